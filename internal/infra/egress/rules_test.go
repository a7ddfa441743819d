package egress

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAllowListRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"10.0.0.0/33", "10.0.0.5/8", "http://n8n.lan", "n8n.lan:5678", "*.lan", "::ffff:10.0.0.0/104", "fe80::1%eth0", "a_b c@d"} {
		_, err := ParseAllow("192.168.0.0/16," + bad)
		if err == nil {
			t.Errorf("%q was read", bad)
			continue
		}
		fields := strings.Fields(bad)
		if !strings.Contains(err.Error(), fields[len(fields)-1]) {
			t.Errorf("%q: the error does not name it: %v", bad, err)
		}
	}
	if list := parse(t, " , \n"); len(list.Entries()) != 0 {
		t.Errorf("entries of nothing: %v", list.Entries())
	}
	if got := parse(t, "10.0.0.0/8, Büro.lan").Entries(); len(got) != 2 || got[1] != "Büro.lan" {
		t.Errorf("entries %v", got)
	}
}

func TestOpensTellsWhatAnOwnerShouldKnow(t *testing.T) {
	t.Parallel()
	tests := map[string][2]bool{ // loopback, metadata
		"192.168.0.0/16":           {false, false},
		"127.0.0.1":                {true, false},
		"0.0.0.0/0":                {true, true},
		"::/0":                     {true, true},
		"localhost":                {true, false},
		"app.localhost":            {true, false},
		"169.254.0.0/16":           {false, true},
		"metadata.google.internal": {false, true},
		"n8n.lan":                  {false, false},
	}
	for text, want := range tests {
		list := parse(t, text)
		if got := [2]bool{list.Opens(Loopback), list.Opens(Metadata)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestCheckAtTheMomentOfTyping(t *testing.T) {
	t.Parallel()
	client := New(Options{Allow: parse(t, "192.168.1.0/24,n8n.lan"), Resolver: resolver(t, map[string][][]string{
		"public.test": {{"93.184.216.34", "2606:4700::1111"}},
		"mixed.test":  {{"93.184.216.34", "10.0.0.1"}},
		"mixed6.test": {{"93.184.216.34", "fd00::1"}},
		"lan.test":    {{"192.168.1.20"}},
		"n8n.lan":     {{"10.5.5.5"}},
		"localhost":   {{"127.0.0.1"}},
	})})
	tests := map[string]string{ // address → part of the reason; empty: accepted
		"https://public.test/hook?token=1":     "",
		"https://user:pass@public.test/":       "",
		"https://public.test:8443/":            "",
		"https://93.184.216.34/":               "",
		"https://[2606:4700::1111]/":           "",
		"https://lan.test/":                    "",
		"http://lan.test:5678/":                "",
		"http://192.168.1.20/":                 "",
		"http://n8n.lan:5678/webhook":          "",
		"HTTPS://PUBLIC.test/":                 "",
		"http://public.test/":                  "use https",
		"http://93.184.216.34/":                "use https",
		"ftp://public.test/":                   "https://",
		"javascript:alert(1)":                  "https://",
		"public.test/hook":                     "https://",
		"":                                     "https://",
		"https:///hook":                        "no host",
		"https:public.test":                    "no host",
		"https://public.test/#part":            "fragment",
		"https://public.test/#":                "fragment",
		"https://public.test:22/":              "port 22",
		"https://public.test:0/":               "port 0",
		"https://public.test:99999/":           "port 99999",
		"https://public.test:/":                "port",
		"https://" + strings.Repeat("a", 2000): "2000 bytes",
		"https://public.test/\x00":             "complete address",
		"https://mixed.test/":                  "private address",
		"https://mixed6.test/":                 "private address",
		"https://nowhere.test/":                "no host of the name nowhere.test",
		"https://flaky.test/":                  "try again",
		"https://[::ffff:10.1.2.3]/":           "IPv4-mapped",
		"https://[::ffff:8.8.8.8]/":            "IPv4-mapped",
		"https://[64:ff9b::a9fe:aa02]/":        "NAT64",
		"https://[64:ff9b:1::1]/":              "NAT64",
		"https://[2002:a01:203::1]/":           "6to4",
		"https://[2001::1]/":                   "Teredo",
		"https://[::a01:203]/":                 "IPv4-compatible",
		"https://[fec0::1]/":                   "site-local",
		"https://[fe80::1%25eth0]/":            "zone",
		"https://[ff02::1]/":                   "multicast",
		"https://100.100.100.200/":             "shared",
		"https://198.18.0.1/":                  "benchmark",
		"https://0.0.0.0:8080/":                "unspecified",
		"https://240.0.0.1/":                   "reserved",
		"https://2130706433/":                  "four decimal numbers",
		"https://127.1/":                       "four decimal numbers",
		"https://0177.0.0.1/":                  "four decimal numbers",
		"https://0x7f.0.0.1/":                  "four decimal numbers",
		"https://0x7f000001/":                  "four decimal numbers",
		"https://１２７.1/":                       "four decimal numbers",
		"https://localhost/":                   "this machine itself",
		"https://localhost./":                  "ends in a dot",
		"https://127.0.0.1./":                  "ends in a dot",
	}
	for address, reason := range tests {
		err := client.Check(t.Context(), address)
		if reason == "" {
			if err != nil {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		var refusal *RefusedError
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, reason) {
			t.Errorf("%.60s: %v, want %q", address, err, reason)
		}
	}
}

func TestRedactHidesWhatMayBeASecret(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"https://user:pass@example.org/services/T0/B0?token=SECRET": "https://example.org/services/…",
		"https://example.org:8443/hook/":                            "https://example.org:8443/hook/",
		"https://example.org/SECRET":                                "https://example.org/…",
		"https://example.org":                                       "https://example.org/",
		"https://example.org/":                                      "https://example.org/",
		"https://example.org?SECRET":                                "https://example.org/…",
		"https://example.org//SECRET":                               "https://example.org//…",
		"not an address SECRET":                                     "(unreadable address)",
		"mailto:SECRET":                                             "(unreadable address)",
		"https://exa mple/SECRET":                                   "(unreadable address)",
	}
	for address, want := range tests {
		if got := Redact(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// FuzzAddressText feeds every spelling through the rules a request passes before a dial: what they let through as a
// literal has to be refused or public by the guard, and no text may panic or leak a query.
func FuzzAddressText(f *testing.F) {
	for _, seed := range []string{"https://127.1/", "http://[::ffff:7f00:1]/", "https://0x7f.1?q=SECRET", "https://a.b.:443/#x", "https://１.1.1.1/", "https://u:SECRET@h/p/SECRET?SECRET"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		short := Redact(text)
		if address, err := url.Parse(text); err == nil && address.RawQuery != "" && strings.Contains(short, "?"+address.RawQuery) {
			t.Errorf("query in %q", short)
		}
		request, err := http.NewRequest(http.MethodPost, text, nil)
		if err != nil || checkURL(request.URL) != nil {
			return
		}
		host := request.URL.Hostname()
		if strings.ContainsAny(host, "%/") || strings.HasSuffix(host, ".") {
			t.Errorf("host %q let through", host)
		}
		if port := request.URL.Port(); port != "" && !allowedPort(portOf(request.URL)) {
			t.Errorf("port %s let through", port)
		}
	})
}
