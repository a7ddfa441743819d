package edge

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// formMemory is how much of an upload is held in memory; the rest goes to temporary files.
const formMemory = 1 << 20

// Form is a posted form: what was typed, and what is wrong with it. A refused form is shown
// again from it, with everything as it was typed.
type Form struct {
	values url.Values
	wrong  map[string]string
	top    string
}

// ParseForm reads the body of r, url-encoded or multipart. Its size is bounded by Handle; a
// larger one is an error that becomes 413.
func ParseForm(r *http.Request) (*Form, error) {
	if r.PostForm == nil {
		if err := readForm(r, formMemory); err != nil {
			return nil, err
		}
	}
	return &Form{values: r.PostForm, wrong: map[string]string{}}, nil
}

// Filled returns a form as if these values had been typed, for the page that shows it first.
func Filled(values url.Values) *Form {
	return &Form{values: values, wrong: map[string]string{}}
}

func readForm(r *http.Request, memory int64) error {
	var err error
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		err = r.ParseMultipartForm(memory)
	} else {
		err = r.ParseForm()
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooLarge):
		return fmt.Errorf("reading the form: %w", err)
	default:
		return unreadableForm{err}
	}
}

// unreadableForm is a body that is no form: the client's fault, not ours.
type unreadableForm struct{ err error }

func (e unreadableForm) Error() string   { return "reading the form: " + e.err.Error() }
func (e unreadableForm) Unwrap() error   { return e.err }
func (e unreadableForm) Code() string    { return "invalid" }
func (e unreadableForm) Message() string { return "The form did not arrive whole." }

// Text returns a field without surrounding space. Text that cannot be stored (a NUL, broken
// UTF-8) is an error at the field and returns "".
func (f *Form) Text(name string) string { return strings.TrimSpace(f.Raw(name)) }

// Raw returns a field as it was typed, with the line ends of a form turned into "\n".
func (f *Form) Raw(name string) string {
	value := f.values.Get(name)
	if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
		f.Fail(name, "This contains a character that cannot be stored. Type it again or paste it as plain text.")
		return ""
	}
	return strings.ReplaceAll(value, "\r\n", "\n")
}

// Int returns a whole number between least and most; anything else is an error at the field
// and returns least.
func (f *Form) Int(name string, least, most int) int {
	n, err := strconv.Atoi(f.Text(name))
	if err != nil || n < least || n > most {
		f.Fail(name, fmt.Sprintf("A whole number from %d to %d is needed.", least, most))
		return least
	}
	return n
}

// Bool reports whether a box was ticked.
func (f *Form) Bool(name string) bool { return f.values.Get(name) == "true" }

// List returns all values of a field that may be there more than once.
func (f *Form) List(name string) []string { return f.values[name] }

// Choice returns the value when it is one of allowed; anything else is an error at the field
// and returns "".
func (f *Form) Choice(name string, allowed ...string) string {
	value := f.values.Get(name)
	if !slices.Contains(allowed, value) {
		f.Fail(name, "Choose one of these.")
		return ""
	}
	return value
}

// Fail marks a field as wrong, in words for the person who typed it. The first word stays.
func (f *Form) Fail(name, message string) {
	if _, already := f.wrong[name]; !already {
		f.wrong[name] = message
	}
}

// Absorb takes an error that is about the form (code invalid, or conflict at a field) and
// reports true: show the form again with 422. Of joined errors each goes to its own field, and
// one that is not about the form makes the whole not about it. Anything else is the edge's to answer.
func (f *Form) Absorb(err error) bool {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		absorbed := true
		for _, one := range many.Unwrap() {
			absorbed = f.Absorb(one) && absorbed
		}
		return absorbed
	}
	var c coded
	if !errors.As(err, &c) {
		return false
	}
	field := ""
	var named fielded
	if errors.As(err, &named) {
		field = named.Field()
	}
	switch {
	case c.Code() == "invalid" && field == "":
		f.top = orElse(message(err), "Something in the form is not right.")
	case c.Code() == "invalid", c.Code() == "conflict" && field != "":
		f.Fail(field, orElse(message(err), "This is not right."))
	default:
		return false
	}
	return true
}

// OK reports whether nothing is wrong so far.
func (f *Form) OK() bool { return len(f.wrong) == 0 && f.top == "" }

// Top is what is wrong with the form as a whole, for ui.FormError; "" for nothing.
func (f *Form) Top() string { return f.top }

// Err is what is wrong with a field; "" for nothing.
func (f *Form) Err(name string) string { return f.wrong[name] }

// Field fills a field's description with what was typed and what is wrong with it.
func (f *Form) Field(field ui.Field) ui.Field {
	if field.Type != "password" {
		field.Value = f.values.Get(field.Name)
	}
	field.Checked = f.Bool(field.Name)
	field.Error = f.wrong[field.Name]
	chosen := f.values[field.Name]
	options := make([]ui.Option, len(field.Options))
	for i, option := range field.Options {
		option.Selected = slices.Contains(chosen, option.Value)
		options[i] = option
	}
	field.Options = options
	return field
}
