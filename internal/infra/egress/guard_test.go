package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// refusedAddresses is every kind of webhooks in the own network or on nobody's, in the forms a dialer can be given.
var refusedAddresses = []string{
	"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
	"169.254.169.254", "100.64.0.1", "100.100.100.200", "198.18.0.1", "198.19.255.255", "192.0.0.1", "192.0.2.1",
	"198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::a01:203", "::7f00:1", "::ffff:10.1.2.3", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8",
	"64:ff9b::a9fe:aa02", "64:ff9b::808:808", "64:ff9b:1::a01:203", "2002:a01:203::1", "2002:808:808::1",
	"2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "3fff::1", "fc00::1", "fd00:ec2::254",
	"fe80::1", "fec0::1", "ff02::1", "100::1", "5f00::1", "4000::1",
}

var publicAddresses = []string{"93.184.216.34", "8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "198.17.255.255", "2606:4700:4700::1111", "2a01:4f8::1"}

// Field case F13: what the standard library takes for public, and is not.
func TestControlRefusesEveryAddressThatIsNotPublic(t *testing.T) {
	t.Parallel()
	control := newGuard(AllowList{}).control(true, "name.test")
	for _, text := range refusedAddresses {
		ip := netip.MustParseAddr(text)
		network := "tcp6"
		if ip.Is4() {
			network = "tcp4"
		}
		err := control(network, netip.AddrPortFrom(ip, 443).String(), nil)
		var refusal *RefusedError
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v", text, err)
		} else if !strings.Contains(refusal.Reason, "GATEHOUSE_EGRESS_ALLOW") {
			t.Errorf("%s: the reason does not say what to do: %s", text, refusal.Reason)
		}
	}
	for _, text := range publicAddresses {
		ip := netip.MustParseAddr(text)
		network := "tcp6"
		if ip.Is4() {
			network = "tcp4"
		}
		if err := control(network, netip.AddrPortFrom(ip, 443).String(), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, odd := range []struct{ network, address string }{{"udp4", "8.8.8.8:443"}, {"unix", "/run/x"}, {"tcp4", "nonsense"}, {"tcp6", "[fe80::1%eth0]:443"}} {
		if err := control(odd.network, odd.address, nil); err == nil {
			t.Errorf("%s %s was let through", odd.network, odd.address)
		}
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	g := newGuard(AllowList{})
	for port, allowed := range map[uint16]bool{0: false, 22: false, 25: false, 79: false, 80: true, 81: false, 443: true, 1023: false, 1024: true, 8443: true, 65535: true} {
		err := g.decide(netip.AddrPortFrom(netip.MustParseAddr("8.8.8.8"), port), true, false)
		if (err == nil) != allowed {
			t.Errorf("port %d: %v", port, err)
		}
	}
}

func TestAllowListOpensWhatItNames(t *testing.T) {
	t.Parallel()
	allow := parse(t, "192.168.1.0/24, fd12::/16 10.0.0.7,n8n.lan")
	g := newGuard(allow)
	tests := []struct {
		address       string
		secure, named bool
		allowed       bool
	}{
		{"192.168.1.20:5678", false, false, true},
		{"192.168.1.20:5678", true, false, true},
		{"192.168.2.20:5678", true, false, false},
		{"10.0.0.7:80", false, false, true},
		{"10.0.0.8:80", true, false, false},
		{"192.168.1.20:22", true, false, false},
		{"[fd12::5]:443", true, false, true},
		{"[fd13::5]:443", true, false, false},
		{"[::ffff:192.168.1.20]:443", true, false, false},
		{"8.8.8.8:80", false, false, false}, // http to a public address
		{"10.9.9.9:5678", false, true, true},
		{"127.0.0.1:5678", false, true, true},
		{"0.0.0.0:5678", true, true, false},
		{"224.0.0.1:5678", true, true, false},
		{"255.255.255.255:5678", true, true, false},
	}
	for _, test := range tests {
		err := g.decide(netip.MustParseAddrPort(test.address), test.secure, test.named)
		if (err == nil) != test.allowed {
			t.Errorf("%+v: %v", test, err)
		}
	}
	if !allow.names("N8N.lan") || allow.names("x.n8n.lan") || allow.names("n8n.lan.") {
		t.Error("a host entry is that host alone, in any case")
	}
}

// FuzzGuard holds the guard against an independent statement of what is public.
func FuzzGuard(f *testing.F) {
	for _, text := range append(append([]string{}, refusedAddresses...), publicAddresses...) {
		f.Add(netip.MustParseAddr(text).AsSlice(), uint16(443))
	}
	g := newGuard(AllowList{})
	f.Fuzz(func(t *testing.T, raw []byte, port uint16) {
		ip, ok := netip.AddrFromSlice(raw)
		if !ok {
			t.Skip()
		}
		err := g.decide(netip.AddrPortFrom(ip, port), true, false)
		if err != nil {
			return
		}
		if port != 80 && port != 443 && port < 1024 {
			t.Errorf("port %d let through", port)
		}
		if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.Is4In6() {
			t.Errorf("%s let through", ip)
		}
		b := ip.As16()
		if ip.Is6() && (b[0]&0xe0 != 0x20 || (b[0] == 0x20 && b[1] == 0x02) || (b[0] == 0x20 && b[1] == 0x01 && b[2] < 2)) {
			t.Errorf("%s let through: outside 2000::/3, 6to4 or Teredo", ip)
		}
		if a := b[12]; ip.Is4() && (a == 0 || a == 127 || a >= 224 || (a == 100 && b[13]&0xc0 == 64) || (a == 198 && b[13]&0xfe == 18)) {
			t.Errorf("%s let through", ip)
		}
	})
}

func parse(t *testing.T, text string) AllowList {
	t.Helper()
	list, err := ParseAllow(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
