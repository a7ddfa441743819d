package assets_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pairing is a colour and what it is seen on.
type pairing struct {
	front, back string
	atLeast     float64
}

// pairings lists every pair of tokens that the stylesheets use: text at 4.5:1 (WCAG 1.4.3),
// the borders of controls and focus rings at 3:1 (WCAG 1.4.11).
func pairings() []pairing {
	pairs := []pairing{{"on-accent", "accent", 4.5}, {"ink", "mark", 4.5}}
	for _, back := range []string{"paper", "surface", "sunken"} {
		for _, front := range []string{"ink", "muted", "accent", "rose", "emerald", "violet", "sky", "indigo", "orange", "amber", "slate"} {
			pairs = append(pairs, pairing{front, back, 4.5})
		}
		pairs = append(pairs, pairing{"edge", back, 3})
	}
	for _, hue := range []string{"sky", "emerald", "amber", "slate", "rose", "violet", "indigo", "orange"} {
		tint := hue + "-bg"
		pairs = append(pairs, pairing{hue, tint, 4.5}, pairing{"ink", tint, 4.5}, pairing{"accent", tint, 4.5}, pairing{"muted", tint, 4.5})
	}
	return pairs
}

func TestEveryPairOfTokensCanBeRead(t *testing.T) {
	t.Parallel()
	light, dark := tokens(t)
	if len(light) < 24 {
		t.Fatalf("found only %d colours in tokens.css", len(light))
	}
	for name := range light {
		if _, twin := dark[name]; !twin {
			t.Errorf("--%s has no dark twin", name)
		}
	}
	for theme, palette := range map[string]map[string]float64{"light": light, "dark": dark} {
		for _, p := range pairings() {
			front, known := palette[p.front]
			back, alsoKnown := palette[p.back]
			if !known || !alsoKnown {
				t.Fatalf("%s: --%s or --%s is not a colour of tokens.css", theme, p.front, p.back)
			}
			if got := contrast(front, back); got < p.atLeast {
				t.Errorf("%s: --%s on --%s is %.2f:1, at least %.1f:1 is needed", theme, p.front, p.back, got, p.atLeast)
			}
		}
	}
}

// tokens returns the luminance of each colour, in the light and in the dark theme.
func tokens(t *testing.T) (light, dark map[string]float64) {
	t.Helper()
	text, err := os.ReadFile("files/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	lightPart, darkPart, found := strings.Cut(string(text), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("tokens.css has no dark theme")
	}
	return luminances(t, lightPart), luminances(t, darkPart)
}

func luminances(t *testing.T, css string) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
		rgb, err := strconv.ParseUint(m[2], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		found[m[1]] = 0.2126*linear(rgb>>16&255) + 0.7152*linear(rgb>>8&255) + 0.0722*linear(rgb&255)
	}
	return found
}

// linear and contrast follow the definitions of WCAG 2.2.
func linear(channel uint64) float64 {
	c := float64(channel) / 255
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

func contrast(a, b float64) float64 {
	return (math.Max(a, b) + 0.05) / (math.Min(a, b) + 0.05)
}
