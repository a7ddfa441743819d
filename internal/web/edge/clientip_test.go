package edge

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientIP(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"direct", "198.51.100.7:1", nil, "198.51.100.7"},
		{"a stranger's header is not believed", "198.51.100.7:1", []string{"1.2.3.4"}, "198.51.100.7"},
		{"one proxy", "10.0.0.1:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"planted address on the left", "10.0.0.1:1", []string{"1.2.3.4, 203.0.113.9"}, "203.0.113.9"},
		{"two proxies", "10.0.0.1:1", []string{"1.2.3.4, 203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		{"two header lines", "10.0.0.1:1", []string{"1.2.3.4", "203.0.113.9"}, "203.0.113.9"},
		{"port and brackets", "[fd00::1]:1", []string{"[2001:db8::5]:443"}, "2001:db8::5"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:1", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"a hop that is no address", "10.0.0.1:1", []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		{"nothing but proxies", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"proxy without the header", "10.0.0.1:1", nil, "10.0.0.1"},
		{"a zone is dropped", "[fe80::1%eth0]:1", nil, "fe80::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.peer
			for _, line := range c.forwarded {
				r.Header.Add("X-Forwarded-For", line)
			}
			if got := clientIP(r, trusted); got.String() != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzClientIP(f *testing.F) {
	f.Add("10.0.0.1:1", "1.2.3.4, 5.6.7.8")
	f.Add("[::1]:80", ",,,")
	f.Fuzz(func(t *testing.T, peer, forwarded string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", forwarded)
		plain := clientIP(r, nil)
		if direct, ok := parseIP(peer); ok && plain != direct {
			t.Errorf("without trusted proxies %q became %s", peer, plain)
		}
		clientIP(r, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")})
	})
}
