package ui

import "github.com/a-h/templ"

// Panel describes a page of the owner's panel.
type Panel struct {
	Title   string          // the page's heading
	Purpose string          // one sentence on what the page is for
	Section string          // Href of the section that is marked in the rail, e.g. "/admin/tasks"
	Action  templ.Component // the primary action, top right; nil for none
	Trail   []Link          // the pages above this one, outermost first
	Flash   *Flash          // what the last action did; nil for nothing
	Live    string          // address of the event stream, e.g. "/admin/live"; "" for a still page
}

// Section is one word in the rail.
type Section struct {
	Label string
	Href  string
	Icon  string
	Keys  string // the shortcut, "g t"
}

// Sections lists the rail from top to bottom.
func Sections() []Section {
	return []Section{
		{"Overview", "/admin/", "gauge", "g o"},
		{"Tasks", "/admin/tasks", "list-checks", "g t"},
		{"Periodic", "/admin/periodic", "calendar-clock", "g p"},
		{"Events", "/admin/events", "activity", "g e"},
		{"Webhooks", "/admin/webhooks", "webhook", "g w"},
		{"Notes", "/admin/notes", "notebook-text", "g n"},
		{"Settings", "/admin/settings", "settings", "g s"},
	}
}

func sectionLabel(href string) string {
	for _, s := range Sections() {
		if s.Href == href {
			return s.Label
		}
	}
	return ""
}

// liveAttributes connect the page's body to the event stream, from where it was when the page's data was read.
func (p Panel) liveAttributes(at string) templ.Attributes {
	if p.Live == "" {
		return templ.Attributes{}
	}
	return templ.Attributes{"data-stream": p.Live, "data-stream-at": at}
}

// LiveAttrs make the element with this id fetch itself again when the event stream tells of
// topic (at most once a second: stream.js sees to it) and take its own place. url may answer with a whole
// page: only the element with the same id is taken from it, and the page's action, which
// must fit what is shown. While rows inside the surrounding PickForm are selected, the
// fetch waits.
func LiveAttrs(id, topic, url string) templ.Attributes {
	return templ.Attributes{
		"id": id, "data-live": true, "hx-get": url, "hx-trigger": "live:" + topic,
		"hx-target": "this", "hx-select": "#" + id, "hx-select-oob": "#page-action", "hx-swap": "outerHTML",
	}
}
