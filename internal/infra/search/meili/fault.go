package meili

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/meilisearch/meilisearch-go"
)

// codeBadSearchFilter is given when a filter names an attribute that is not
// filterable.
const codeBadSearchFilter = meilisearch.APIErrCodeInvalidSearchFilter

// fault is what went wrong, in words for the operator. The client's own errors
// are not passed on: they may hold the whole answer, and with it text of notes.
type fault struct {
	code  meilisearch.APIErrCode // empty when the server gave none
	says  string
	cause error
}

func (f *fault) Error() string { return f.says }
func (f *fault) Unwrap() error { return f.cause }

func isCode(err error, code meilisearch.APIErrCode) bool {
	var f *fault
	return errors.As(err, &f) && f.code == code
}

func faultOf(err error, url string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault{says: "Meilisearch at " + url + " did not answer in time", cause: context.DeadlineExceeded}
	}
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	var m *meilisearch.Error
	if !errors.As(err, &m) {
		return &fault{says: "Meilisearch at " + url + ": " + short(err.Error()), cause: err}
	}
	switch {
	case m.StatusCode == 0 && m.OriginError != nil:
		return &fault{says: fmt.Sprintf("Meilisearch at %s cannot be reached: %v", url, m.OriginError), cause: m.OriginError}
	case m.StatusCode == http.StatusUnauthorized || m.StatusCode == http.StatusForbidden:
		return &fault{code: m.APIError.Code, says: fmt.Sprintf("Meilisearch at %s refuses the key (%s): set GATEHOUSE_MEILI_KEY to its master key, "+
			"or to one that may do everything with the index", url, m.APIError.Code)}
	case m.APIError.Code != "":
		return &fault{code: m.APIError.Code, says: fmt.Sprintf("Meilisearch answered %d, %s: %s", m.StatusCode, m.APIError.Code, short(m.APIError.Message))}
	case m.OriginError != nil:
		return &fault{says: fmt.Sprintf("Meilisearch at %s answered %d with something else than expected: is it Meilisearch?", url, m.StatusCode)}
	}
	return &fault{says: fmt.Sprintf("Meilisearch at %s answered %d", url, m.StatusCode)}
}

// short keeps the beginning of a message: some repeat the document.
func short(message string) string {
	const most = 160
	if r := []rune(message); len(r) > most {
		return string(r[:most]) + "…"
	}
	return message
}
