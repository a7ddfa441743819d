package corpus

import (
	"encoding/json"
	"strings"
	"testing"
)

// Pieces put together are the whole, none is larger than asked, and none breaks a character.
func TestPiecesMakeTheWhole(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing": "", "plain": strings.Repeat("Compost. ", 400), "wide": strings.Repeat("花园和堆肥🌱", 200),
		"escaped": strings.Repeat("<b>&\"\\\n\u2028\x01", 300),
	} {
		for _, most := range []int{100, 101, 1000, 1 << 20} {
			whole, from := "", 0
			for {
				part, next := piece(body, from, most)
				raw, err := json.Marshal(part)
				if err != nil || len(raw)-2 > most || (next > 0 && len(raw)-2 < most-12) {
					t.Fatalf("%s in pieces of %d: %d bytes, %v", name, most, len(raw)-2, err)
				}
				if whole += part; next == 0 {
					break
				}
				from = next
			}
			if whole != body {
				t.Errorf("%s in pieces of %d is not what it was", name, most)
			}
		}
	}
}
