package ui

import "time"

// Public describes a page that visitors see.
type Public struct {
	Title       string // also the OpenGraph title
	Description string // one or two sentences for search engines and previews; "" for none
	Path        string // the page's own address from the root, "/wiki/garden"; canonical is made from it
	Article     bool   // a note rather than a list: og:type article
	Published   time.Time
	Modified    time.Time
	NoIndex     bool
	Query       string // what stands in the search box
	Section     string // Href of the navigation entry that is marked
	Flash       *Flash
}

func (p Public) kind() string {
	if p.Article {
		return "article"
	}
	return "website"
}

func (s Site) absolute(path string) string {
	if s.BaseURL == "" || path == "" {
		return ""
	}
	return s.BaseURL + path
}

// Nav of a public page when the site names none.
func (s Site) nav() []Link {
	if len(s.Nav) > 0 {
		return s.Nav
	}
	return []Link{{"Notes", "/wiki/"}, {"Writing", "/writing/"}}
}
