// Package instance is where the owner sees to the installation as a whole: what a hold keeps back and what becomes of it,
// when the last backup was made, and how much room there is.
package instance

import (
	"net/http"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/domain/owner"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

const (
	home     = instance.Page
	settings = "/admin/settings"
)

// Section holds the handlers.
type Section struct {
	house *instance.Domain
	owner *owner.Domain
	live  string
}

// New returns the section; live is the address of the event stream, "" for still pages.
func New(d *instance.Domain, o *owner.Domain, live string) *Section { return &Section{d, o, live} }

// Messages are what the section's actions say when they are done.
func Messages() map[string]edge.Message {
	return map[string]edge.Message{
		"hold-set":        {Tone: ui.Done, One: "Sends are on hold from now on. What happens meanwhile waits."},
		"hold-sent":       {Tone: ui.Done, One: "The hold is released. What waited is sent now, slowly at first."},
		"hold-dropped":    {Tone: ui.Done, One: "The hold is released. 1 delivery that came with the copy was dropped.", Many: "The hold is released. # deliveries that came with the copy were dropped."},
		"hold-over":       {Tone: ui.Told, One: "That hold is not in force any more. Nothing was done."},
		"backup-reminder": {Tone: ui.Done, One: "The reminder is changed."},
	}
}

// view is the page.
type view struct {
	hold    *instance.Hold
	tokens  []owner.Token // that may have come back with the copy
	past    []instance.Hold
	backups instance.Backups
	spaces  []instance.Space
	noSpace bool // the disks could not be asked
	flash   *ui.Flash
	live    string
}

// Page shows the installation.
func (s *Section) Page(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v := view{flash: edge.TakeFlash(w, r), live: s.live}
	var err error
	if v.hold, err = s.house.Current(ctx); err != nil {
		return err
	}
	if v.hold != nil {
		if v.tokens, err = s.owner.TokensBefore(ctx, v.hold.SetAt); err != nil {
			return err
		}
	}
	if v.past, err = s.house.Past(ctx); err != nil {
		return err
	}
	if v.backups, err = s.house.Backups(ctx); err != nil {
		return err
	}
	v.spaces, err = s.house.Spaces()
	v.noSpace = err != nil
	return edge.Render(w, r, http.StatusOK, page(v))
}

// AskHold says what a hold does.
func (s *Section) AskHold(w http.ResponseWriter, r *http.Request) error {
	return edge.Render(w, r, http.StatusOK, holdPage())
}

// Hold keeps back sends from now on.
func (s *Section) Hold(w http.ResponseWriter, r *http.Request) error {
	if _, err := edge.ParseForm(r); err != nil {
		return err
	}
	if _, err := s.house.Hold(r.Context(), instance.HoldIn{}); err != nil {
		return err
	}
	edge.SetFlash(w, r, "hold-set", 0)
	return edge.SeeOther(w, r, home)
}

// AskDrop names what would be dropped.
func (s *Section) AskDrop(w http.ResponseWriter, r *http.Request) error {
	h, err := s.house.Current(r.Context())
	if err != nil {
		return err
	}
	if h == nil {
		return s.over(w, r)
	}
	return edge.Render(w, r, http.StatusOK, dropPage(*h))
}

// Release ends the hold the owner saw, in the way chosen.
func (s *Section) Release(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	in := instance.ReleaseIn{ID: form.Text("hold"), Choice: instance.Choice(form.Text("choice"))}
	out, err := s.house.Release(r.Context(), in)
	switch {
	case op.CodeOf(err) == op.Conflict:
		return s.over(w, r)
	case err != nil:
		return err
	case in.Choice == instance.Send:
		edge.SetFlash(w, r, "hold-sent", 0)
	default:
		edge.SetFlash(w, r, "hold-dropped", out.Dropped)
	}
	return edge.SeeOther(w, r, home)
}

func (s *Section) over(w http.ResponseWriter, r *http.Request) error {
	edge.SetFlash(w, r, "hold-over", 0)
	return edge.SeeOther(w, r, home)
}

// Remind switches the reminder of backups.
func (s *Section) Remind(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	if err := s.house.BackUpElsewhere(r.Context(), instance.RemindIn{Elsewhere: form.Text("elsewhere") == "true"}); err != nil {
		return err
	}
	edge.SetFlash(w, r, "backup-reminder", 0)
	return edge.SeeOther(w, r, home)
}

func trail() []ui.Link { return []ui.Link{{Label: "Settings", Href: settings}} }

func ofHold(h instance.Hold, choice instance.Choice) []ui.Hidden {
	return []ui.Hidden{{Name: "hold", Value: h.ID}, {Name: "choice", Value: string(choice)}}
}

// pairs says what a hold is about.
func pairs(h instance.Hold) []ui.Pair {
	list := []ui.Pair{
		{Key: "Why", Value: ui.Text(h.Reason)},
		{Key: "Since", Value: ui.Time(h.SetAt)},
		{Key: "Came with the copy", Value: ui.Text(deliveries(h.Waiting.Brought))},
		{Key: "Happened since", Value: ui.Text(deliveries(h.Waiting.Since))},
	}
	if h.Waiting.Unmatched > 0 {
		list = append(list, ui.Pair{Key: "Not yet matched to receivers", Value: ui.Text(counted(h.Waiting.Unmatched, "event", "events") + " that came with the copy")})
	}
	if h.Waiting.Oldest != nil {
		list = append(list, ui.Pair{Key: "The oldest waits since", Value: ui.Time(*h.Waiting.Oldest)})
	}
	if h.Sessions > 0 {
		list = append(list, ui.Pair{Key: "Signed out", Value: ui.Text(counted(h.Sessions, "browser", "browsers"))})
	}
	return list
}

func deliveries(n int) string { return counted(n, "delivery", "deliveries") }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return ui.Count(n) + " " + many
}

func outcome(h instance.Hold) string {
	if h.Choice == instance.Send {
		return "sent"
	}
	return "dropped " + deliveries(h.Touched)
}

func room(s instance.Space) string {
	return ui.Bytes(int64(s.Free)) + " of " + ui.Bytes(int64(s.Total)) + " free"
}
