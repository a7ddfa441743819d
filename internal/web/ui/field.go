package ui

import (
	"strings"

	"github.com/a-h/templ"
)

// Field is one labelled control of a form. Value is what the person typed, also when it was
// refused; Error is what is wrong with it, in words for that person.
type Field struct {
	Name         string
	ID           string // Name when empty; set it when two forms on a page share a name
	Label        string
	Hint         string // said before anything is typed
	Error        string
	Value        string
	Type         string // of an <input>: "text" when empty, "url", "email", "search", "number", "datetime-local", "file" …
	Placeholder  string // an example, never the only explanation
	Autocomplete string // as HTML names it: "username", "current-password", "off"
	InputMode    string
	Required     bool
	ReadOnly     bool
	AutoFocus    bool
	Mono         bool // identifiers, addresses, code
	Checked      bool // of a CheckBox
	Rows         int  // of a TextArea; 6 when 0
	MaxLength    int  // 0 for none; the server checks by itself
	Options      []Option
	Attrs        templ.Attributes // anything rarer: min, max, step, accept, list
}

// Option is one choice of a Select, Radios or Checks.
type Option struct {
	Value    string
	Label    string
	Hint     string // shown by Radios and Checks
	Group    string // consecutive options of one group stand together in a Select
	Selected bool   // a Select and Radios also select the option whose Value is the field's
	Disabled bool
}

func (f Field) id() string {
	if f.ID != "" {
		return f.ID
	}
	return "f-" + f.Name
}

func (f Field) hintID() string  { return f.id() + "-hint" }
func (f Field) errorID() string { return f.id() + "-error" }

// attributes are those that every control shares: they tie hint and error to it (WCAG 1.3.1,
// 3.3.1) and say whether its value was refused.
func (f Field) attributes() templ.Attributes {
	a := templ.Attributes{"id": f.id(), "name": f.Name}
	described := ""
	if f.Hint != "" {
		described = f.hintID()
	}
	if f.Error != "" {
		a["aria-invalid"] = "true"
		if described != "" {
			described += " "
		}
		described += f.errorID()
	}
	setText(a, "aria-describedby", described)
	setText(a, "placeholder", f.Placeholder)
	setText(a, "autocomplete", f.Autocomplete)
	setText(a, "inputmode", f.InputMode)
	a["required"] = f.Required
	a["readonly"] = f.ReadOnly
	a["autofocus"] = f.AutoFocus
	if f.MaxLength > 0 {
		a["maxlength"] = f.MaxLength
	}
	if f.Mono {
		a["spellcheck"] = "false"
		a["autocapitalize"] = "off"
	}
	for key, value := range f.Attrs {
		a[key] = value
	}
	return a
}

func setText(a templ.Attributes, key, value string) {
	if value != "" {
		a[key] = value
	}
}

func (f Field) inputType() string {
	if f.Type == "" {
		return "text"
	}
	return f.Type
}

func (f Field) rows() int {
	if f.Rows == 0 {
		return 6
	}
	return f.Rows
}

func (f Field) selected(o Option) bool { return o.Selected || (f.Value != "" && o.Value == f.Value) }

// optionGroup is a run of options under one heading; "" has none.
type optionGroup struct {
	name    string
	options []Option
}

func (f Field) groups() []optionGroup {
	var groups []optionGroup
	for _, o := range f.Options {
		if n := len(groups); n == 0 || groups[n-1].name != o.Group {
			groups = append(groups, optionGroup{name: o.Group})
		}
		last := &groups[len(groups)-1]
		last.options = append(last.options, o)
	}
	return groups
}

// multiline is the value as a <textarea> must hold it: an HTML parser drops the first line
// break after the tag, so a value that begins with one gets another.
func (f Field) multiline() string {
	if strings.HasPrefix(f.Value, "\n") || strings.HasPrefix(f.Value, "\r") {
		return "\n" + f.Value
	}
	return f.Value
}
