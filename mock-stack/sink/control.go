package sink

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// control serves:
//
//	GET    /__mock/sink                  counters of every hook
//	DELETE /__mock/sink                  forget every hook
//	GET    /__mock/sink/<name>           counters
//	DELETE /__mock/sink/<name>           forget plan and requests
//	PUT    /__mock/sink/<name>/plan      set the plan
//	GET    /__mock/sink/<name>/received  every request, oldest first
//	GET    /__mock/sink/<name>/ids       how often each webhook-id came
//
// <name> holds no slash; a hook below /hook/a/b is read under its name with the slash written as ~.
func (s *Sink) control(w http.ResponseWriter, r *http.Request) {
	rest := strings.Trim(strings.TrimPrefix(r.URL.Path, "/__mock/sink"), "/")
	name, what, _ := strings.Cut(rest, "/")
	name = strings.ReplaceAll(name, "~", "/")
	switch r.Method + " " + what {
	case "GET ":
		if name == "" {
			writeJSON(w, s.counts())
			return
		}
		writeJSON(w, s.Count(name))
	case "DELETE ":
		if name == "" {
			s.ResetAll()
		} else {
			s.Reset(name)
		}
		w.WriteHeader(http.StatusNoContent)
	case "PUT plan", "POST plan":
		s.putPlan(w, r, name)
	case "GET received":
		writeJSON(w, s.Received(name))
	case "GET ids":
		writeJSON(w, s.IDs(name))
	default:
		http.Error(w, "no such control route", http.StatusNotFound)
	}
}

func (s *Sink) putPlan(w http.ResponseWriter, r *http.Request, name string) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	plan, err := ParsePlan(raw)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.SetPlan(name, plan)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Sink) counts() map[string]Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]Count, len(s.hooks))
	for name, h := range s.hooks {
		all[name] = h.count()
	}
	return all
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a caller that left needs no answer
}
