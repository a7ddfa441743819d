package edge

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// ErrNotFound is what a handler returns when the address names nothing, or nothing that the
// visitor may know of: both look the same.
var ErrNotFound = errors.New("nothing at this address")

// What an error may say of itself. The operations' errors do; the edge knows them by these
// methods alone.
type (
	coded    interface{ Code() string }    // invalid, not_found, conflict, forbidden, unauthorized, too_large, too_many, unavailable
	worded   interface{ Message() string } // written for people, without secrets
	fielded  interface{ Field() string }   // the field of the form that is wrong
	delaying interface{ RetryAfter() time.Duration }
)

// problem is an error as a person meets it.
type problem struct {
	status            int
	title, what, next string
	again             bool   // sending the same form again may work
	retryAfter        string // seconds, "" for none
}

// classify is the one map from errors to statuses.
func classify(err error) problem {
	var tooLarge *http.MaxBytesError
	var c coded
	switch {
	case errors.Is(err, ErrNotFound):
		return missing()
	case errors.As(err, &tooLarge):
		return oversized("At most " + ui.Bytes(tooLarge.Limit) + " are taken at once here.")
	case errors.As(err, &c):
		if p, ok := byCode(c.Code(), err); ok {
			return p
		}
	}
	return byCause(err)
}

func byCode(code string, err error) (problem, bool) {
	said := message(err)
	switch code {
	case "invalid":
		return problem{status: http.StatusUnprocessableEntity, title: "This cannot be taken as it is", what: orElse(said, "Something in the form is not right."), next: "Nothing was changed."}, true
	case "not_found":
		return missing(), true
	case "conflict":
		return problem{status: http.StatusConflict, title: "It has changed meanwhile", what: orElse(said, "Somebody or something was faster."), next: "Nothing was changed. Go back, look at how it stands now, and decide again."}, true
	case "forbidden":
		return problem{status: http.StatusForbidden, title: "This is not open to you", what: orElse(said, "You are signed in, but without the right to do this."), next: "Nothing was changed."}, true
	case "unauthorized":
		return problem{status: http.StatusUnauthorized, title: "You are signed out", what: "Nothing was changed, because the page no longer knows who you are.", next: "Sign in in another tab, then come back to this one and try again.", again: true}, true
	case "too_large":
		return oversized(said), true
	case "too_many":
		return slowDown(said, err), true
	case "unavailable":
		return away(said), true
	}
	return problem{}, false
}

// byCause reads errors that no operation has put into words.
func byCause(err error) problem {
	const queryCancelled = "57014" // by the statement timeout
	switch {
	case errors.Is(err, pg.ErrUnsure):
		return unsure()
	case pg.DiskFull(err):
		return diskFull()
	case pg.Unavailable(err), pg.State(err) == queryCancelled:
		return away("")
	default:
		return broken()
	}
}

func message(err error) string {
	var m worded
	if errors.As(err, &m) {
		return m.Message()
	}
	return ""
}

func orElse(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

func missing() problem {
	return problem{status: http.StatusNotFound, title: "There is no page here", what: "The address may be mistyped, or what stood here has moved or is not public."}
}

func methodRefused() problem {
	return problem{status: http.StatusMethodNotAllowed, title: "Not in this way", what: "There is something at this address, but it does not answer this kind of request.", next: "Nothing was changed. If you followed a link or reloaded a page after a form, go back to the page that the form was on."}
}

func oversized(said string) problem {
	return problem{status: http.StatusRequestEntityTooLarge, title: "This is too large", what: orElse(said, "This is more than is taken at once here."), next: "Nothing was changed."}
}

func slowDown(said string, err error) problem {
	p := problem{status: http.StatusTooManyRequests, title: "Too many tries", what: orElse(said, "There were more tries than are taken at once."), next: "Nothing was changed. Wait a little, then try again.", again: true}
	var d delaying
	if errors.As(err, &d) {
		p.retryAfter = strconv.Itoa(max(1, int(d.RetryAfter().Seconds()+0.5)))
	}
	return p
}

func away(said string) problem {
	return problem{status: http.StatusServiceUnavailable, title: "Not just now", what: orElse(said, "The database, or something else that this page needs, did not answer in time."), next: "Nothing was changed. What you typed is kept on this page: try again in a moment.", again: true, retryAfter: "5"}
}

func unsure() problem {
	return problem{status: http.StatusServiceUnavailable, title: "Perhaps saved", what: "The connection to the database broke at the moment of saving.", next: "It may have been saved or not: look first, then decide whether to send it again. What you typed is kept on this page.", again: true, retryAfter: "5"}
}

func diskFull() problem {
	return problem{status: http.StatusServiceUnavailable, title: "The disk is full", what: "The database has no room to store anything.", next: "Nothing was changed. What you typed is kept on this page: make room on the disk, then try again.", again: true, retryAfter: "60"}
}

func broken() problem {
	return problem{status: http.StatusInternalServerError, title: "Something went wrong here", what: "The fault is ours and has been logged.", next: "If you were saving something, look first whether it was saved, then try again.", again: true}
}

func crossOriginRefused() problem {
	return problem{status: http.StatusForbidden, title: "This came from another site", what: "A form on another site tried to act in your name, so it was refused.", next: "Nothing was changed. If it was you, open the page here and do it again."}
}
