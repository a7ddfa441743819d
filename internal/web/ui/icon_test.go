package ui_test

import (
	"os"
	"regexp"
	"testing"
)

func sprite(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../assets/files/icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An icon that is not in the sprite would silently be an empty square.
func TestEveryIconOfThePagesIsInTheSprite(t *testing.T) {
	t.Parallel()
	icons, seen := sprite(t), 0
	for name, c := range pages() {
		for _, use := range regexp.MustCompile(`icons\.[0-9a-f]+\.svg#([a-z0-9-]+)`).FindAllStringSubmatch(render(t, c), -1) {
			seen++
			if !regexp.MustCompile(`<symbol id="` + use[1] + `"`).MatchString(icons) {
				t.Errorf("%s uses the icon %q, which is not in the sprite", name, use[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("saw only %d icons", seen)
	}
}
