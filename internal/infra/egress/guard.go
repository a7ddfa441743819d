package egress

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// guard decides on one concrete address.
type guard struct {
	allow    AllowList
	guardian *ssrf.Guardian
}

func newGuard(allow AllowList) guard {
	var v4, v6 []netip.Prefix
	for _, prefix := range allow.prefixes {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	return guard{allow: allow, guardian: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
}

// control is a net.Dialer.Control: the dialer calls it with the address it is about to connect to, once the socket is
// made and before a packet is sent.
func (g guard) control(secure bool, host string) func(network, address string, _ syscall.RawConn) error {
	named := g.allow.names(host)
	return func(network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return &RefusedError{Reason: "only TCP connections are made"}
		}
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return &RefusedError{Reason: "the address cannot be read"}
		}
		return g.decide(to, secure, named)
	}
}

// decide refuses an address or returns nil. With named the operator has listed the host, whose addresses then pass, save
// those that are nobody's; without secure (plain http) only listed addresses pass.
func (g guard) decide(to netip.AddrPort, secure, named bool) error {
	if !allowedPort(to.Port()) {
		return &RefusedError{Reason: fmt.Sprintf("port %d is refused: 80, 443 and those from 1024 on are allowed", to.Port())}
	}
	ip := to.Addr()
	if named {
		if !ip.IsValid() || ip.IsUnspecified() || ip.IsMulticast() || reserved.Contains(ip) {
			return refuseAddress(ip)
		}
		return nil
	}
	if err := g.guardian.SafeAddr(ip); err != nil {
		return refuseAddress(ip)
	}
	if !secure && !g.allow.contains(ip) {
		return &RefusedError{Reason: "http is allowed only for addresses in GATEHOUSE_EGRESS_ALLOW: use https"}
	}
	return nil
}

func allowedPort(port uint16) bool { return port == 80 || port == 443 || port >= 1024 }

func refuseAddress(ip netip.Addr) *RefusedError {
	return &RefusedError{Reason: fmt.Sprintf("%s is %s, which is refused unless GATEHOUSE_EGRESS_ALLOW lists it", ip, describe(ip))}
}

// reserved is class E and the broadcast address (RFC 1112 §4).
var reserved = netip.MustParsePrefix("240.0.0.0/4")

// ranges name the special-purpose addresses for a message. What is refused is decided by the guardian, not here: an
// address in none of these is still refused if the IANA registries hold it.
var ranges = []struct {
	prefix netip.Prefix
	name   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a shared (carrier) address"},
	{netip.MustParsePrefix("127.0.0.0/8"), "this machine itself"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmark address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation address"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation address"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{reserved, "a reserved address"},
	{netip.MustParsePrefix("::1/128"), "this machine itself"},
	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "an IPv4-mapped address"},
	{netip.MustParsePrefix("::/96"), "an IPv4-compatible address"},
	{netip.MustParsePrefix("64:ff9b::/96"), "a NAT64 address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a NAT64 address"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation address"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},
	{netip.MustParsePrefix("3fff::/20"), "a documentation address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

func describe(ip netip.Addr) string {
	for _, r := range ranges {
		if r.prefix.Contains(ip.WithZone("")) || (ip.Is4In6() && r.prefix.Addr().Is4In6()) {
			return r.name
		}
	}
	return "a special-purpose address"
}
