package edge

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const flashCookie = "gatehouse_flash"

// Message is what a flash says. The cookie carries a key and a number only, so nothing that
// a person typed, or planted, is ever shown.
type Message struct {
	Tone ui.Tone
	One  string // for a count of 0 or 1: "The task will be tried again now."
	Many string // for other counts, with # where the number stands: "# tasks will be tried again now."; One when empty
	Link *ui.Link
}

// SetFlash leaves the message key, of Config.Messages, for the next page; n is what it
// counts, 0 for nothing. It lasts for a minute and one page.
func SetFlash(w http.ResponseWriter, r *http.Request, key string, n int) {
	e := passageOf(r.Context()).edge
	if e == nil {
		return
	}
	if _, known := e.Messages[key]; !known {
		// The action has been done: a missing word for it must not turn it into an error.
		e.Log.ErrorContext(r.Context(), "no message has this key", "key", key)
		return
	}
	http.SetCookie(w, e.cookie(key+":"+strconv.Itoa(n), 60))
}

// TakeFlash returns the message left by the last action, once; nil when there is none.
func TakeFlash(w http.ResponseWriter, r *http.Request) *ui.Flash {
	e := passageOf(r.Context()).edge
	if e == nil {
		return nil
	}
	left, err := r.Cookie(flashCookie)
	if err != nil {
		return nil
	}
	http.SetCookie(w, e.cookie("", -1))
	key, count, _ := strings.Cut(left.Value, ":")
	m, known := e.Messages[key]
	n, err := strconv.Atoi(count)
	if !known || err != nil {
		return nil
	}
	return &ui.Flash{Tone: m.Tone, Text: m.text(n), Link: m.Link}
}

func (m Message) text(n int) string {
	if m.Many == "" || n == 0 || n == 1 {
		return m.One
	}
	return strings.ReplaceAll(m.Many, "#", ui.Count(n))
}

func (e *Edge) cookie(value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: flashCookie, Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: e.https(), SameSite: http.SameSiteLaxMode,
	}
}
