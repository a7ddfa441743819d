package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// AllowList is what the operator opens with GATEHOUSE_EGRESS_ALLOW: networks, addresses and host names that may be
// called although they are private, and by plain http. The zero value opens nothing.
type AllowList struct {
	prefixes []netip.Prefix
	hosts    []string
	entries  []string
}

// ParseAllow reads a list of CIDRs, IP addresses and host names, separated by commas or white space. An error names the
// entry it could not read.
func ParseAllow(text string) (AllowList, error) {
	var list AllowList
	for _, entry := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }) {
		if err := list.add(entry); err != nil {
			return AllowList{}, fmt.Errorf("allowed address %q: %w", entry, err)
		}
		list.entries = append(list.entries, entry)
	}
	return list, nil
}

func (list *AllowList) add(entry string) error {
	if strings.Contains(entry, "/") {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			return fmt.Errorf("not a network like 192.168.1.0/24; a host is written without scheme and path")
		}
		if prefix.Addr().Is4In6() {
			return fmt.Errorf("write the IPv4 network itself")
		}
		if prefix != prefix.Masked() {
			return fmt.Errorf("the network's own address is %s", prefix.Masked())
		}
		list.prefixes = append(list.prefixes, prefix)
		return nil
	}
	if ip, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		if ip.Is4In6() || ip.Zone() != "" {
			return fmt.Errorf("write the address without mapping or zone")
		}
		list.prefixes = append(list.prefixes, netip.PrefixFrom(ip, ip.BitLen()))
		return nil
	}
	host, err := normalHost(entry)
	if err != nil || strings.ContainsAny(host, ":*@?#[]") {
		return fmt.Errorf("neither a network, an IP address nor a host name without port")
	}
	list.hosts = append(list.hosts, host)
	return nil
}

// Entries are the list's entries as they were written.
func (list AllowList) Entries() []string { return slices.Clone(list.entries) }

// Opening is a kind of address that an allow list should not open without the owner knowing.
type Opening int

const (
	// Loopback is this machine itself, with every service that trusts local callers.
	Loopback Opening = iota
	// Metadata is the credential service of a cloud machine.
	Metadata
)

// openings hold, for each kind, its addresses and the names known to lead there.
var openings = map[Opening]struct {
	prefixes []netip.Prefix
	hosts    []string
}{
	Loopback: {
		prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		hosts:    []string{"localhost", "localhost.localdomain", "ip6-localhost"},
	},
	Metadata: {
		prefixes: []netip.Prefix{
			netip.MustParsePrefix("169.254.169.254/32"), netip.MustParsePrefix("169.254.170.2/32"), // AWS, GCP, Azure; ECS tasks
			netip.MustParsePrefix("fd00:ec2::254/128"), netip.MustParsePrefix("fd20:ce::254/128"), // AWS, GCP
			netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("192.0.0.192/32"), // Alibaba, Oracle
		},
		hosts: []string{"metadata.google.internal", "metadata", "instance-data"},
	},
}

// Opens reports whether the list opens an address of that kind, or a host name known to lead to one.
func (list AllowList) Opens(kind Opening) bool {
	for _, prefix := range openings[kind].prefixes {
		if slices.ContainsFunc(list.prefixes, prefix.Overlaps) {
			return true
		}
	}
	return slices.ContainsFunc(list.hosts, func(host string) bool {
		return slices.Contains(openings[kind].hosts, host) || (kind == Loopback && strings.HasSuffix(host, ".localhost"))
	})
}

func (list AllowList) contains(ip netip.Addr) bool {
	return slices.ContainsFunc(list.prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// names reports whether a host, as it stands in an address, is listed by name.
func (list AllowList) names(host string) bool {
	if len(list.hosts) == 0 {
		return false
	}
	host, err := normalHost(host)
	return err == nil && slices.Contains(list.hosts, host)
}

// normalHost writes a host name the way it is dialled: lower case, and international names in their ASCII form.
func normalHost(host string) (string, error) {
	normal, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Names with an underscore are no host names but are used in private networks: keep what is plain ASCII.
		for _, r := range host {
			if r <= ' ' || r > '~' {
				return "", err
			}
		}
		normal = strings.ToLower(host)
	}
	if normal == "" || len(normal) > 253 {
		return "", fmt.Errorf("host name of %d bytes", len(normal))
	}
	return normal, nil
}
