package meili

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Control serves the control routes; mount it on another address too, to reach it while this one is out:
//
//	POST /__mock/meili/outage   {"mode":"none|refuse|503|hang"}
//	POST /__mock/meili/tasks    {"delay":"50ms","fail":1,"fail_code":"no_space_left_on_device","vanish":0}
//	POST /__mock/meili/wipe
//	POST /__mock/meili/snapshot {"name":"a"}
//	POST /__mock/meili/restore  {"name":"a"}
//	POST /__mock/meili/reset    everything as new
//	GET  /__mock/meili/documents/<index>   by id, queued tasks done
//	GET  /__mock/meili/requests            how often each route was asked
func (s *Server) Control(w http.ResponseWriter, r *http.Request) {
	what := strings.Trim(strings.TrimPrefix(r.URL.Path, "/__mock/meili"), "/")
	if r.Method == http.MethodGet {
		if uid, ok := strings.CutPrefix(what, "documents/"); ok {
			reply(w, http.StatusOK, s.Documents(uid))
			return
		}
		if what == "requests" {
			reply(w, http.StatusOK, s.Requests())
			return
		}
	}
	if r.Method != http.MethodPost {
		http.Error(w, "no such control route", http.StatusNotFound)
		return
	}
	if err := s.command(what, r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) command(what string, r *http.Request) error {
	var order struct {
		Mode     Outage `json:"mode"`
		Name     string `json:"name"`
		Delay    string `json:"delay"`
		Fail     int    `json:"fail"`
		FailCode string `json:"fail_code"`
		Vanish   int    `json:"vanish"`
	}
	if r.ContentLength != 0 {
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&order); err != nil {
			return fmt.Errorf("reading order: %w", err)
		}
	}
	switch what {
	case "outage":
		return s.SetOutage(order.Mode)
	case "tasks":
		planned := TaskFaults{Delay: defaultTaskDelay, Fail: order.Fail, FailCode: order.FailCode, Vanish: order.Vanish}
		if order.Delay != "" {
			delay, err := time.ParseDuration(order.Delay)
			if err != nil {
				return fmt.Errorf("delay: %w", err)
			}
			planned.Delay = delay
		}
		s.SetTaskFaults(planned)
	case "wipe":
		s.Wipe()
	case "snapshot":
		s.Snapshot(order.Name)
	case "restore":
		return s.Restore(order.Name)
	case "reset":
		s.Wipe()
		s.SetTaskFaults(TaskFaults{Delay: defaultTaskDelay})
		s.mu.Lock()
		clear(s.requests)
		clear(s.snapshots)
		s.mu.Unlock()
		return s.SetOutage(OutageNone)
	default:
		return errors.New("no such control route")
	}
	return nil
}
