package edge

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientIP walks X-Forwarded-For from the right, past trusted proxies, to the first address
// that none of them vouches for. What stands left of it was written by the client and is
// never read. Without a trusted peer the header is ignored.
func clientIP(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, ok := parseIP(r.RemoteAddr)
	if !ok || !within(trusted, peer) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseIP(strings.TrimSpace(hop))
		if !ok {
			return peer // a hop that cannot be read: the last one that could stands
		}
		peer = address
		if !within(trusted, address) {
			return address
		}
	}
	return peer
}

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseIP reads an address with or without a port. IPv4 in IPv6 clothes is undressed, so
// that 10.0.0.0/8 also covers ::ffff:10.0.0.1.
func parseIP(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.Addr{}, false
	}
	return address.Unmap().WithZone(""), true
}
