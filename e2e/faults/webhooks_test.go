package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-hq/gatehouse/e2e/blackbox"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

var kills = flag.Int("kills", 4, "kills of a server while a delivery is under way")

const (
	// Groups of endpoints take turns; the others wait for imports, of which none comes. A kill leaves the leases of its group to
	// run out (30 s): with one group each kill would have to wait for that.
	groups      = 12
	ofGroup     = 4
	notesOfTurn = 8
)

// A server killed between a POST and its result: every event is received, what
// comes twice has the same id, and nothing stays running for a minute.
func TestKilledBetweenPostAndResult(t *testing.T) {
	eachSchedule(t, 1, fmt.Sprintf(" -kills %d", *kills), killedBetween)
}

func killedBetween(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	k := newKillRun(t)
	for turn := range *kills {
		k.listen(turn % groups)
		var load sync.WaitGroup
		load.Go(func() { k.publish(notesOfTurn) })
		waitFor(t, "a delivery is under way", func() error { return k.underWay(turn % groups) })
		time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond) // the moment is random: before, at or after an answer
		victim := k.workers[random.IntN(len(k.workers))]
		victim.Signal(syscall.SIGKILL)
		again(t, victim)
		load.Wait()
		waitFor(t, "its events are fanned out", func() error { return k.fannedOut(turn + 1) })
		if err := victim.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		nothingIsStuck(t, k.pool)
	}
	started := time.Now()
	waitFor(t, "every delivery is settled", func() error { return nothingWaits(t, k.pool) })
	t.Logf("settled %s after the last kill", time.Since(started).Round(time.Second))
	k.agree()
}

// killRun is a front that lives, two workers that are killed, and a receiver.
type killRun struct {
	t         *testing.T
	pool      *pgxpool.Pool
	receiver  *sink.Sink
	front     *blackbox.Server
	workers   []*blackbox.Server
	owner     *blackbox.Owner
	endpoints []string // ids, by hook
}

func newKillRun(t *testing.T) *killRun {
	dbURL := pgtest.URL(t)
	k := &killRun{t: t, pool: open(t, dbURL), receiver: sink.New(), endpoints: make([]string, groups*ofGroup)}
	web := httptest.NewServer(k.receiver)
	t.Cleanup(web.Close)
	k.front = start(t, dbURL, append(shared(), "GATEHOUSE_ROLE=web")...)
	for range 2 {
		k.workers = append(k.workers, start(t, dbURL, shared()...))
	}
	var err error
	if k.owner, err = blackbox.SetUp(t.Context(), k.front); err != nil {
		t.Fatal(err)
	}
	for n := range k.endpoints {
		k.receiver.SetPlan(hook(n), sink.Plan{Record: sink.RecordIDs, Steps: []sink.Step{{Status: 200, Delay: sink.Duration(100 * time.Millisecond)}}})
		var out struct{ Endpoint struct{ ID string } }
		k.call("webhooks.create", map[string]any{"url": web.URL + "/hook/" + hook(n), "event_types": []string{"vault.imported"}}, &out)
		k.endpoints[n] = out.Endpoint.ID
	}
	return k
}

// shared is what processes on one database need in common: what one has sealed
// the other must open.
func shared() []string {
	return []string{"GATEHOUSE_EGRESS_ALLOW=127.0.0.1", "GATEHOUSE_SEAL_KEY=" + strings.Repeat("5e", 32)}
}

func (k *killRun) call(operation string, in, out any) {
	k.t.Helper()
	if err := k.owner.Call(k.t.Context(), k.front, operation, in, out); err != nil {
		k.t.Fatal(err)
	}
}

// listen makes one group hear of notes, and no other.
func (k *killRun) listen(group int) {
	for n, id := range k.endpoints {
		types := []string{"vault.imported"}
		if n/ofGroup == group {
			types = []string{"corpus.note.changed"}
		}
		if n/ofGroup == group || n/ofGroup == (group+groups-1)%groups {
			k.call("webhooks.update", map[string]any{"id": id, "event_types": types}, nil)
		}
	}
}

// publish makes n events, all of which are committed when it returns.
func (k *killRun) publish(n int) {
	for i := range n {
		title := fmt.Sprintf("Published %d %d", time.Now().UnixNano(), i)
		if err := k.owner.Call(k.t.Context(), k.front, "corpus.create", map[string]any{"genre": "wiki", "title": title, "published": true}, nil); err != nil {
			k.t.Error(err)
		}
	}
}

func (k *killRun) underWay(group int) error {
	for n := group * ofGroup; n < (group+1)*ofGroup; n++ {
		if k.receiver.Count(hook(n)).InFlight > 0 {
			return nil
		}
	}
	return fmt.Errorf("no request is being answered")
}

// fannedOut says that nothing is left to be matched: a fan-out that was cut off
// runs again, and would else match against the group that listens by then.
func (k *killRun) fannedOut(turns int) error {
	var events, tasks, owed int
	err := k.pool.QueryRow(k.t.Context(), `
		select (select count(*) from events where fanned_out_at is null),
			(select count(*) from river.river_job where kind = 'webhook.fanout' and finalized_at is null),
			(select count(*) from webhook_deliveries)`).Scan(&events, &tasks, &owed)
	if err != nil {
		return err
	}
	if want := turns * notesOfTurn * ofGroup; events+tasks > 0 || owed != want {
		return fmt.Errorf("%d events and %d tasks are open, %d of %d deliveries are owed", events, tasks, owed, want)
	}
	return nil
}

// agree compares what was owed with what the receiver has.
func (k *killRun) agree() {
	rows, err := k.pool.Query(k.t.Context(), `select endpoint_id::text, event_id::text from webhook_deliveries`)
	if err != nil {
		k.t.Fatal(err)
	}
	owed := map[string]map[string]bool{}
	var endpoint, event string
	if _, err := pgx.ForEachRow(rows, []any{&endpoint, &event}, func() error {
		if owed[endpoint] == nil {
			owed[endpoint] = map[string]bool{}
		}
		owed[endpoint][event] = true
		return nil
	}); err != nil {
		k.t.Fatal(err)
	}
	received, repeated := 0, 0
	for n, id := range k.endpoints {
		got := k.receiver.IDs(hook(n))
		for event := range owed[id] {
			if got[event] == 0 {
				k.t.Errorf("endpoint %d never received %s", n, event)
			}
		}
		for event, times := range got {
			if !owed[id][event] {
				k.t.Errorf("endpoint %d received %s, which it is not owed", n, event)
			}
			if times > 1 {
				repeated++
			}
		}
		received += len(got)
		if c := k.receiver.Count(hook(n)); c.MaxInFlight > 2 {
			// One beside the one whose sender was killed: its answer is still on its way.
			k.t.Errorf("endpoint %d had %d requests at once", n, c.MaxInFlight)
		}
	}
	// Each kill can cut one attempt per endpoint short, not more.
	if most := *kills * ofGroup; repeated > most {
		k.t.Errorf("%d deliveries were repeated by %d kills", repeated, *kills)
	}
	k.t.Logf("%d deliveries, %d kills, %d deliveries repeated under the same id", received, *kills, repeated)
}

func hook(n int) string { return fmt.Sprintf("shop%d", n) }

func waitFor(t *testing.T, what string, f func() error) {
	t.Helper()
	if err := blackbox.Eventually(t.Context(), 2*time.Minute, f); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// nothingIsStuck sees to it that no attempt has been running for a minute.
func nothingIsStuck(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var stuck int
	err := pool.QueryRow(t.Context(), `select count(*) from river.river_job where state = 'running' and attempted_at < clock_timestamp() - interval '60 seconds'`).Scan(&stuck)
	if err != nil || stuck > 0 {
		t.Fatalf("%d tasks have been running for over a minute, %v", stuck, err)
	}
}

func nothingWaits(t *testing.T, pool *pgxpool.Pool) error {
	nothingIsStuck(t, pool)
	var events, waiting int
	err := pool.QueryRow(t.Context(), `
		select (select count(*) from events where fanned_out_at is null),
			(select count(*) from webhook_deliveries where state <> 'delivered')
			+ (select count(*) from river.river_job where kind = 'webhook.fanout' and finalized_at is null)`).
		Scan(&events, &waiting)
	switch {
	case err != nil:
		return err
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
