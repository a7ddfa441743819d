package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/web/mcp"
)

// givesUp is the key of what a caller gives up by.
type givesUp struct{}

// leave is one client that begins, or asks for something, and never comes back.
func (h *house) leave(t *testing.T, call string, giveUp bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	arguments := `{"ids":["a"]}`
	if call != "thing_drop" {
		arguments = `{}`
	}
	if giveUp {
		ctx = context.WithValue(ctx, givesUp{}, cancel)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	if call != "" {
		body = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + call + `","arguments":` + arguments + `}}`
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, mcp.Path, strings.NewReader(body))
	r.Host = "site.example"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer keeper")
	w := httptest.NewRecorder()
	h.Config.Handler.ServeHTTP(w, r)
	if !giveUp && (w.Code != http.StatusOK || w.Header().Get("Mcp-Session-Id") != "") {
		t.Fatalf("%d %v %.200s", w.Code, w.Header(), w.Body)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what has a finalizer goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Field case F55: 10,000 clients begin, or ask for a plan, or give up in the middle of a call, and are never seen again. Nothing of
// them stays: no memory, no goroutine, and no more plans than one caller may have. Not parallel: it counts for the whole process.
func TestTenThousandAbandonedClientsLeaveNothing(t *testing.T) {
	h := open(t)
	crowd := func(n int) {
		for i := range n {
			switch {
			case i%20 == 0:
				h.leave(t, "thing_abandon", true)
			case i%20 == 1:
				h.leave(t, "thing_drop", false)
			default:
				h.leave(t, "", false)
			}
		}
	}
	crowd(100) // what is made once
	memory, goroutines := heap(), runtime.NumGoroutine()
	crowd(10_000)
	for late := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines+5; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
	// A client that is kept takes more than 10 kB: its server with its tools.
	if now := heap(); now > memory+(8<<20) {
		t.Errorf("%d kB are held, %d kB before", now>>10, memory>>10)
	}
	var plans int
	if err := h.db.QueryRow(t.Context(), `select count(*) from plans`).Scan(&plans); err != nil || plans == 0 || plans > 200 {
		t.Errorf("%d plans, %v", plans, err)
	}
	if n := h.dropped.Load(); n != 0 {
		t.Errorf("%d things were dropped", n)
	}
}
