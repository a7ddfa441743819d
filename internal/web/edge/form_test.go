package edge_test

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

func form(t *testing.T, values url.Values) *edge.Form {
	t.Helper()
	f, err := edge.ParseForm(post("/x", values))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFormReadsWhatWasTyped(t *testing.T) {
	t.Parallel()
	f := form(t, url.Values{"name": {"  Compost \r\n"}, "body": {"\r\na\r\nb"}, "n": {"12"}, "on": {"true"}, "ids": {"1", "2"}, "kind": {"wiki"}})
	if f.Text("name") != "Compost" || f.Raw("body") != "\na\nb" || f.Int("n", 1, 20) != 12 || !f.Bool("on") || f.Bool("off") ||
		strings.Join(f.List("ids"), ",") != "1,2" || f.Choice("kind", "raw", "wiki") != "wiki" {
		t.Errorf("read %+v", f)
	}
	if !f.OK() {
		t.Error("a right form is called wrong")
	}
}

func TestFormSaysAtTheFieldWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*edge.Form){
		"a NUL":             func(f *edge.Form) { f.Text("nul") },
		"broken UTF-8":      func(f *edge.Form) { f.Raw("latin") },
		"no number":         func(f *edge.Form) { f.Int("word", 1, 9) },
		"a number too big":  func(f *edge.Form) { f.Int("big", 1, 9) },
		"a choice not held": func(f *edge.Form) { f.Choice("word", "a", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := form(t, url.Values{"nul": {"a\x00b"}, "latin": {"caf\xe9"}, "word": {"many"}, "big": {"10"}})
			read(f)
			if f.OK() {
				t.Error("it was taken")
			}
		})
	}
}

func TestRefusedFormIsShownAgainAsItWasTyped(t *testing.T) {
	t.Parallel()
	f := form(t, url.Values{"url": {" http://x "}, "kinds": {"b"}, "on": {"true"}, "password": {"hunter2"}})
	f.Fail("url", "This is not https.")
	f.Fail("url", "A second complaint.")
	field := f.Field(ui.Field{Name: "url", Label: "Address"})
	if field.Value != " http://x " || field.Error != "This is not https." || field.Label != "Address" {
		t.Errorf("shown as %+v", field)
	}
	declared := []ui.Option{{Value: "a", Selected: true}, {Value: "b"}}
	kinds := f.Field(ui.Field{Name: "kinds", Options: declared}).Options
	if kinds[0].Selected || !kinds[1].Selected || declared[1].Selected {
		t.Errorf("choices %+v, declared %+v", kinds, declared)
	}
	if !f.Field(ui.Field{Name: "on"}).Checked || f.Field(ui.Field{Name: "password", Type: "password"}).Value != "" {
		t.Error("a box is not ticked, or a password is given back")
	}
}

func TestFormAbsorbsWhatIsAboutTheForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err               error
		absorbed          bool
		atField, wholeTop string
	}{
		{said{"invalid", "Too long.", "name"}, true, "Too long.", ""},
		{fmt.Errorf("creating: %w", said{"conflict", "Taken.", "name"}), true, "Taken.", ""},
		{said{"invalid", "Choose at least one.", ""}, true, "", "Choose at least one."},
		{said{"conflict", "It runs now.", ""}, false, "", ""},
		{said{"not_found", "", "name"}, false, "", ""},
		{errors.New("anything"), false, "", ""},
	} {
		f := form(t, nil)
		if got := f.Absorb(c.err); got != c.absorbed || f.Err("name") != c.atField || f.Top() != c.wholeTop || f.OK() == c.absorbed {
			t.Errorf("%v: absorbed %v, field %q, top %q", c.err, got, f.Err("name"), f.Top())
		}
	}
}

func TestBodiesAreBoundedAsTheyAreRead(t *testing.T) {
	t.Parallel()
	read := func(_ http.ResponseWriter, r *http.Request) error { _, err := edge.ParseForm(r); return err }
	h, _ := house(t, read)
	if w := ask(h, post("/x", url.Values{"body": {strings.Repeat("a", edge.BodyLimit)}})); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("url-encoded: %d, want 413", w.Code)
	}
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	part, err := writer.CreateFormFile("vault", "vault.zip")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(bytes.Repeat([]byte("z"), edge.BodyLimit)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	upload := httptest.NewRequest(http.MethodPost, "/x", &body)
	upload.Header.Set("Content-Type", writer.FormDataContentType())
	upload.ContentLength = -1 // not announced: only reading tells
	if w := ask(h, upload); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("multipart: %d, want 413", w.Code)
	}
}

func TestABrokenFormIsTheSendersFault(t *testing.T) {
	t.Parallel()
	h, book := house(t, func(_ http.ResponseWriter, r *http.Request) error { _, err := edge.ParseForm(r); return err })
	r := httptest.NewRequest(http.MethodPost, "/x", strings.NewReader("a=%zz"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if w := ask(h, r); w.Code != http.StatusUnprocessableEntity || book.String() != "" {
		t.Errorf("%d, logged %q", w.Code, book.String())
	}
}
