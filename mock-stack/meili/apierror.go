package meili

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// apiError is an error as the engine words it: as the answer to a request, or as the end of a task.
type apiError struct {
	status  int
	code    string
	kind    string
	message string
}

func (e *apiError) Error() string { return e.message }

// MarshalJSON writes the four fields every error of the API has.
func (e *apiError) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{
		"message": e.message, "code": e.code, "type": e.kind, "link": "https://docs.meilisearch.com/errors#" + e.code,
	})
}

func badRequest(code, message string) *apiError {
	return &apiError{http.StatusBadRequest, code, "invalid_request", message}
}

func indexNotFound(uid string) *apiError {
	return &apiError{http.StatusNotFound, "index_not_found", "invalid_request", fmt.Sprintf("Index `%s` not found.", uid)}
}

func replyError(w http.ResponseWriter, err error) {
	var known *apiError
	if !errors.As(err, &known) {
		known = &apiError{http.StatusInternalServerError, "internal", "internal", err.Error()}
	}
	reply(w, known.status, known)
}

func reply(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	replyRaw(w, status, raw)
}

func replyRaw(w http.ResponseWriter, status int, raw []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a caller that left needs no answer
}

// worded is an error in the engine's own words, which begin with a capital and end with a full stop.
func worded(format string, parts ...any) error {
	return &apiError{http.StatusBadRequest, "bad_request", "invalid_request", fmt.Sprintf(format, parts...)}
}
