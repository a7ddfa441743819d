package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
)

// Whoever hangs up in the middle of a long operation stops it, at both doors and by every protocol version: the statement that
// runs in PostgreSQL is cancelled there, though nothing else would end it.
func TestWhoHangsUpCancelsTheStatement(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"corpus_list","arguments":{"text":"given-up"}}}`
	for name, c := range map[string]struct{ path, body, version string }{
		"api":        {"/api/admin/corpus.list", `{"text":"given-up"}`, ""},
		"2025-03-26": {"/mcp", call, "2025-03-26"},
		"2025-06-18": {"/mcp", call, "2025-06-18"},
		"2025-11-25": {"/mcp", call, "2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveAll(t)
			token := s.token(t, op.Read).Secret
			locker, err := pgx.ConnectConfig(t.Context(), s.pool.Config().ConnConfig.Copy())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = locker.Close(context.WithoutCancel(t.Context())) }()
			if _, err := locker.Exec(t.Context(), `begin; lock table notes in access exclusive mode`); err != nil {
				t.Fatal(err)
			}
			waits := func(want bool) {
				t.Helper()
				for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
					var waiting bool
					// Waiting for the lock that this very connection holds.
					err := locker.QueryRow(t.Context(), `select exists (select from pg_locks where pg_backend_pid() = any (pg_blocking_pids(pid)) and not granted)`).Scan(&waiting)
					if err != nil {
						t.Fatal(err)
					}
					if waiting == want {
						return
					}
					if time.Now().After(late) {
						t.Fatalf("a statement waits: %t", waiting)
					}
				}
			}
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Authorization", "Bearer "+token)
			if c.version != "" {
				r.Header.Set("Mcp-Protocol-Version", c.version)
			}
			ended := make(chan error, 1)
			go func() {
				a, err := http.DefaultClient.Do(r)
				if err == nil {
					_ = a.Body.Close()
				}
				ended <- err
			}()
			waits(true)
			hangUp()
			if err := <-ended; err == nil {
				t.Error("it was answered while the table is locked")
			}
			waits(false)
		})
	}
}
