package faults

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
)

// settled waits until nothing waits or runs. How long all of it takes is up to
// the machine; but no single thing may stand for a minute: run that long, be
// due and not begun, wait to be relayed, or be put off for longer.
func (w *world) settled() {
	w.Helper()
	const stands = `
		select (select count(*) from events where fanned_out_at is null and occurred_at < $1 - interval '60 seconds')
			+ (select count(*) from river.river_job where kind <> 'periodic' and finalized_at is null and (
				state = 'running' and attempted_at < $1 - interval '60 seconds'
				or state <> 'running' and scheduled_at < $1 - interval '60 seconds'
				or scheduled_at > $1 + interval '60 seconds'))`
	calm := time.Now()
	err := blackbox.Eventually(w.Context(), 4*time.Minute, func() error {
		var now time.Time
		var open, stuck int
		err := w.pool.QueryRow(w.Context(), `
			select clock_timestamp(), (select count(*) from events where fanned_out_at is null)
				+ (select count(*) from river.river_job where kind <> 'periodic' and finalized_at is null)
				+ (select count(*) from webhook_deliveries where state = 'waiting')`).Scan(&now, &open)
		if err == nil && open > 0 && time.Since(calm) > 60*time.Second {
			err = w.pool.QueryRow(w.Context(), stands, now).Scan(&stuck)
		}
		switch {
		case err != nil:
			return err
		case stuck > 0:
			w.Fatalf("%d of %d things stand for over a minute: %s", stuck, open, w.whatIsOpen())
		case open > 0:
			return fmt.Errorf("%d events, tasks and deliveries are open: %s", open, w.whatIsOpen())
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) whatIsOpen() (text string) {
	err := w.pool.QueryRow(w.Context(), `
		select coalesce(string_agg(line, '; '), 'no task') from (
			select format('%s %s are %s after %s attempts (%s), due in %s s', count(*), kind, state, max(attempt),
				left(max(errors[array_length(errors, 1)] ->> 'error'), 200), round(extract(epoch from max(scheduled_at) - clock_timestamp()))) as line
			from river.river_job where kind <> 'periodic' and finalized_at is null group by kind, state) jobs`).Scan(&text)
	if err != nil {
		return err.Error()
	}
	return text
}

// compare holds what was promised against the rows, the rows against the
// outbox, and the outbox against what the outside has.
func (w *world) compare() {
	w.Helper()
	certain := w.compareCommitted()
	w.compareOutbox()
	repeated, received := w.compareReceived()
	w.compareSearch()
	b := w.book
	w.Logf("%d writes acknowledged, %d refused or cut off; %d notes certain; %d requests received, %d under an id that had come before",
		b.acknowledged.Load(), b.refused.Load(), certain, received, repeated)
	if certain < 5 {
		w.Errorf("only %d notes are certain: too few to prove anything", certain)
	}
}

// compareCommitted: whoever was told "done" finds it done, and told of.
func (w *world) compareCommitted() (certain int) {
	w.Helper()
	type row struct {
		body    string
		deleted bool
		events  int
	}
	rows, err := w.pool.Query(w.Context(), `
		select n.id::text, n.body, n.deleted_at is not null, (select count(*) from events e where e.data ->> 'note_id' = n.id::text) from notes n`)
	w.must(err)
	have := map[string]row{}
	var id string
	var r row
	_, err = pgx.ForEachRow(rows, []any{&id, &r.body, &r.deleted, &r.events}, func() error {
		have[id] = r
		return nil
	})
	w.must(err)
	w.book.change(func() {
		for _, e := range w.book.entries {
			r, ok := have[e.id]
			switch {
			case !ok:
				w.Errorf("note %s was acknowledged and is not there", e.id)
			case r.events < e.writes:
				w.Errorf("note %s: %d writes acknowledged, %d events", e.id, e.writes, r.events)
			case e.doubt:
				continue
			case r.deleted != e.deleted:
				w.Errorf("note %s: deleted %v, acknowledged %v", e.id, r.deleted, e.deleted)
			case !e.deleted && r.body != e.word:
				w.Errorf("note %s holds %q, acknowledged was %q", e.id, r.body, e.word)
			}
			certain++
		}
	})
	return certain
}

// compareOutbox asks the database what may not be.
func (w *world) compareOutbox() {
	w.Helper()
	for what, query := range map[string]string{
		"events set aside":               `select count(*) from events where poisoned_at is not null`,
		"events not handed to the index": `select count(*) from events where type = 'corpus.note.changed' and not coalesce(fanout ? 'corpus.index', false)`,
		"index tasks that no event stands behind": `
			select count(*) from river.river_job j where kind = 'corpus.index'
			and not exists (select 1 from events e where (e.fanout ->> 'corpus.index')::bigint = j.id)`,
		"tasks failed for good": `select count(*) from river.river_job where state = 'discarded' and kind <> 'periodic'`, // whose next turn is its next try
		"deliveries owed and not made": `
			select count(*) from events e cross join webhook_endpoints p left join webhook_deliveries d on d.event_id = e.id and d.endpoint_id = p.id
			where e.type = 'corpus.note.changed' and e.occurred_at > p.created_at and ((e.data ->> 'published')::boolean or (e.data ->> 'was_published')::boolean)
			and d.state is distinct from 'delivered'`,
		"deliveries of what nobody may hear": `
			select count(*) from webhook_deliveries d join events e on e.id = d.event_id
			where not ((e.data ->> 'published')::boolean or (e.data ->> 'was_published')::boolean)`,
	} {
		var n int
		if err := w.pool.QueryRow(w.Context(), query).Scan(&n); err != nil {
			w.Fatalf("asking for %s: %v", what, err)
		}
		if n != 0 {
			w.Errorf("%d %s", n, what)
		}
	}
	w.discarded()
}

// discarded tells which tasks failed for good, and of what.
func (w *world) discarded() {
	w.Helper()
	rows, err := w.pool.Query(w.Context(), `
		select format('%s: attempt %s of %s, args %s, errors %s, metadata %s', kind, attempt, max_attempts, args, errors, metadata)
		from river.river_job where state = 'discarded' and kind <> 'periodic' limit 5`)
	w.must(err)
	told, err := pgx.CollectRows(rows, pgx.RowTo[string])
	w.must(err)
	for _, line := range told {
		w.Logf("failed for good: %s", line)
	}
}

// compareReceived: what receivers have is what the outbox says, and repeats
// have the same id.
func (w *world) compareReceived() (repeated, received int) {
	w.Helper()
	for n, name := range w.hooks {
		rows, err := w.pool.Query(w.Context(), `
			select d.event_id::text from webhook_deliveries d join webhook_endpoints p on p.id = d.endpoint_id
			where p.url like '%/hook/' || $1 and d.state = 'delivered'`, name)
		w.must(err)
		owed, err := pgx.CollectRows(rows, pgx.RowTo[string])
		w.must(err)
		ids := w.sink.IDs(name)
		for _, id := range owed {
			if ids[id] == 0 {
				w.Errorf("endpoint %d: event %s counts as delivered and was never received", n, id)
			}
			delete(ids, id)
		}
		for id := range ids {
			w.Errorf("endpoint %d: received %s, which the outbox does not know", n, id)
		}
		bodies := map[string]string{}
		for _, r := range w.sink.Received(name) {
			id := r.Headers.Get("Webhook-Id")
			before, again := bodies[id]
			if received++; again {
				repeated++
				if before != string(r.Body) {
					w.Errorf("endpoint %d: %s came with two bodies", n, id)
				}
			}
			bodies[id] = string(r.Body)
		}
	}
	return repeated, received
}

// compareSearch asks as a visitor for some of what was written last.
func (w *world) compareSearch() {
	w.Helper()
	const most = 12
	asked := 0
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	for i := len(w.book.entries) - 1; i >= 0 && asked < most; i-- {
		e := w.book.entries[i]
		if e.doubt {
			continue
		}
		asked++
		want := e.published && !e.deleted
		got, err := w.finds(e.word)
		w.must(err)
		if got != want {
			w.Errorf("a visitor finds %s (published %v, deleted %v): %v", e.word, e.published, e.deleted, got)
		}
	}
}

// finds asks the first server's public search for a word.
func (w *world) finds(word string) (bool, error) {
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.servers[0].URL+"/search?q="+url.QueryEscape(word), nil)
	if err != nil {
		return false, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()
	page, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("search answers %s", res.Status)
	}
	// The page repeats the question; a hit links to its note.
	return strings.Contains(string(page), `href="/wiki/note-`), err
}
