package webhooks

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/webhooks"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// NewForm shows the form of a new endpoint.
func (s *Section) NewForm(w http.ResponseWriter, r *http.Request) error {
	return s.showForm(w, r, http.StatusOK, formView{Form: edge.Filled(url.Values{"scheme": {string(webhooks.HMAC)}})})
}

func (s *Section) showForm(w http.ResponseWriter, r *http.Request, status int, v formView) error {
	var err error
	if v.nouns, err = s.nouns(r.Context()); err != nil {
		return err
	}
	var loopback, metadata bool
	v.allowed, loopback, metadata = s.hooks.AllowedAddresses()
	v.opens = opened(loopback, metadata)
	return edge.Render(w, r, status, formPage(v))
}

func (s *Section) nouns(ctx context.Context) ([]noun, error) {
	types, err := s.hooks.EventTypes(ctx, webhooks.None{})
	return nouns(types.Types), err
}

// opened names what among the allowed addresses is worth a warning; "" for nothing.
func opened(loopback, metadata bool) string {
	var what []string
	if loopback {
		what = append(what, "this machine itself")
	}
	if metadata {
		what = append(what, "the address where cloud machines hand out their credentials")
	}
	return strings.Join(what, " and ")
}

// Create adds an endpoint and shows its secret, this once.
func (s *Section) Create(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	in := read(form)
	scheme := webhooks.Scheme(form.Text("scheme"))
	made, err := s.create(r.Context(), form, in, scheme)
	if err != nil {
		return err
	}
	if !form.OK() {
		return s.showForm(w, r, http.StatusUnprocessableEntity, formView{Form: form})
	}
	return edge.RenderSecret(w, r, http.StatusCreated, secretPage(made, "The endpoint is on. It hears every event that it selects from now on."))
}

// create leaves what is wrong at the fields of the form.
func (s *Section) create(ctx context.Context, form *edge.Form, in typedIn, scheme webhooks.Scheme) (webhooks.Created, error) {
	if unreadable(form) {
		return webhooks.Created{}, nil
	}
	made, err := s.hooks.Create(ctx, webhooks.CreateIn{URL: in.url, Description: in.description, EventTypes: in.types,
		Headers: in.headers, MaxPerSecond: in.maxPerSecond, Scheme: scheme})
	if err != nil && !absorb(form, err, len(in.headers)) {
		return made, err
	}
	return made, nil
}

// unreadable reports whether a field holds bytes that are no text: it reads as empty, and must not be stored as that. A
// line of the headers without a colon is refused by the domain with the rest.
func unreadable(f *edge.Form) bool {
	for _, field := range []string{"url", "description", "patterns", "max_per_second"} {
		if f.Err(field) != "" {
			return true
		}
	}
	return f.Err("headers") != "" && f.Raw("headers") == ""
}
