package faults

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

var kills = flag.Int("kills", 4, "kills of a server while a delivery is under way")

// A server killed between a POST and its result: every event is received, what
// comes twice has the same id, and nothing stays running for a minute.
func TestKilledBetweenPostAndResult(t *testing.T) {
	const endpoints = 4
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay with: -run %s -seed %d -kills %d", t.Name(), *seed, *kills)
	random := rand.New(rand.NewPCG(*seed, 7))

	receiver := sink.New()
	web := httptest.NewServer(receiver)
	t.Cleanup(web.Close)
	for n := range endpoints {
		receiver.SetPlan(hook(n), sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Status: 200, Delay: sink.Duration(30 * time.Millisecond)}}})
	}
	dbURL := pgtest.URL(t)
	pool := open(t, dbURL)
	// Processes on one database need one key: what one has sealed the other must open.
	shared := []string{"GATEHOUSE_EGRESS_ALLOW=127.0.0.1", "GATEHOUSE_SEAL_KEY=" + strings.Repeat("5e", 32)}
	servers := []*blackbox.Server{start(t, dbURL, shared...), start(t, dbURL, shared...)}
	o, err := blackbox.SetUp(t.Context(), servers[0])
	if err != nil {
		t.Fatal(err)
	}
	for n := range endpoints {
		if err := o.Call(t.Context(), servers[0], "webhooks.create", map[string]any{"url": web.URL + "/hook/" + hook(n),
			"event_types": []string{"corpus.note.changed"}, "scheme": "hmac"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { publishNotes(ctx, o, servers) })
	for range *kills {
		waitFor(t, "a delivery is under way", func() error { return underWay(receiver, endpoints) })
		victim := servers[random.IntN(len(servers))]
		victim.Signal(syscall.SIGKILL)
		again(t, victim)
		if err := victim.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	load.Wait()
	waitFor(t, "every delivery is settled", func() error { return nothingWaits(t, pool) })

	var events int
	if err := pool.QueryRow(t.Context(), `select count(*) from events where type = 'corpus.note.changed'`).Scan(&events); err != nil {
		t.Fatal(err)
	}
	if events < 10 {
		t.Errorf("only %d events: too few to prove anything", events)
	}
	repeated := 0
	for n := range endpoints {
		ids := receiver.IDs(hook(n))
		if len(ids) != events {
			t.Errorf("endpoint %d received %d of %d events", n, len(ids), events)
		}
		for _, times := range ids {
			if times > 1 {
				repeated++
			}
		}
		if c := receiver.Count(hook(n)); c.MaxInFlight > 2 {
			// One beside the one whose sender was killed: its answer is still on its way.
			t.Errorf("endpoint %d had %d requests at once", n, c.MaxInFlight)
		}
	}
	// Each kill can cut one attempt per endpoint short, not more.
	if most := *kills * endpoints; repeated > most {
		t.Errorf("%d deliveries were repeated by %d kills", repeated, *kills)
	}
	t.Logf("%d events to %d endpoints, %d kills, %d deliveries repeated under the same id", events, endpoints, *kills, repeated)
}

func hook(n int) string { return fmt.Sprintf("shop%d", n) }

func waitFor(t *testing.T, what string, f func() error) {
	t.Helper()
	if err := blackbox.Eventually(t.Context(), 2*time.Minute, f); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func underWay(receiver *sink.Sink, endpoints int) error {
	for n := range endpoints {
		if receiver.Count(hook(n)).InFlight > 0 {
			return nil
		}
	}
	return fmt.Errorf("no request is being answered")
}

// publishNotes makes events until ctx ends. Which calls a kill cut off does
// not matter: the events table says what was committed.
func publishNotes(ctx context.Context, o *blackbox.Owner, servers []*blackbox.Server) {
	for n := 0; ctx.Err() == nil; n++ {
		err := o.Call(ctx, servers[n%len(servers)], "corpus.create", map[string]any{"genre": "wiki", "title": fmt.Sprintf("Published %d", n), "published": true}, nil)
		pause := 20 * time.Millisecond
		if err != nil {
			pause *= 5
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// nothingWaits also sees to it that no attempt has been running for a minute.
func nothingWaits(t *testing.T, pool *pgxpool.Pool) error {
	var events, waiting, stuck int
	err := pool.QueryRow(t.Context(), `
		select (select count(*) from events where fanned_out_at is null),
			(select count(*) from webhook_deliveries where state <> 'delivered')
			+ (select count(*) from river.river_job where kind = 'webhook.fanout' and finalized_at is null),
			(select count(*) from river.river_job where state = 'running' and attempted_at < clock_timestamp() - interval '60 seconds')`).
		Scan(&events, &waiting, &stuck)
	switch {
	case err != nil:
		return err
	case stuck > 0:
		t.Fatalf("%d tasks have been running for over a minute", stuck)
	case events+waiting > 0:
		return fmt.Errorf("%d events and %d deliveries are open; %s", events, waiting, whatIsOpen(t, pool))
	}
	return nil
}

// whatIsOpen tells of the jobs that are not done when the next is due.
func whatIsOpen(t *testing.T, pool *pgxpool.Pool) (text string) {
	err := pool.QueryRow(t.Context(), `
		select coalesce(string_agg(line, '; '), 'no job stands for them') from (
			select format('%s in queue %s are %s after %s, due in %s to %s s, snoozed at most %s times', count(*), queue, state,
				left(max(errors[array_length(errors, 1)] ->> 'error'), 300),
				round(extract(epoch from min(scheduled_at) - clock_timestamp())), round(extract(epoch from max(scheduled_at) - clock_timestamp())),
				max(coalesce((metadata ->> 'snoozes')::int, 0))) as line
			from river.river_job where kind like 'webhook.%' and finalized_at is null group by queue, state) jobs`).Scan(&text)
	if err != nil {
		return err.Error()
	}
	return text
}
