package river

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/riverqueue/river/riverdriver"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

const insertTopic = "river_insert"

// bridge is the library's listener without a connection of its own: it hands
// on what the process's LISTEN connection hears, and pokes from within the
// process, which need no database at all.
type bridge struct {
	listener *pg.Listener
	queues   []string
	heard    chan *riverdriver.Notification

	mu   sync.Mutex
	subs map[string]func()
}

func newBridge(l *pg.Listener, queues []string) *bridge {
	return &bridge{listener: l, queues: queues, heard: make(chan *riverdriver.Notification, 1024), subs: map[string]func(){}}
}

// poke wakes this process's workers of the queues.
func (b *bridge) poke(queues []string) {
	for _, q := range queues {
		b.pass(insertTopic, insertPayload(q))
	}
}

func insertPayload(queue string) string {
	p, err := json.Marshal(map[string]string{"queue": queue})
	if err != nil { // a map of strings always marshals
		return ""
	}
	return string(p)
}

// pass never blocks: what does not fit is found by the poll.
func (b *bridge) pass(topic, payload string) {
	select {
	case b.heard <- &riverdriver.Notification{Topic: topic, Payload: payload}:
	default:
	}
}

func (b *bridge) hear(topic, payload string) {
	switch {
	case payload != "":
		b.pass(topic, payload)
	case topic == insertTopic: // the connection is new: anything may have been missed
		b.poke(b.queues)
	}
}

// The rest implements riverdriver.Listener.

func (b *bridge) Connect(context.Context) error { return nil }
func (b *bridge) Ping(context.Context) error    { return nil }
func (b *bridge) Schema() string                { return schema }
func (b *bridge) SetAfterConnectExec(string)    {}

func (b *bridge) Listen(_ context.Context, topic string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs[topic] == nil {
		b.subs[topic] = b.listener.Subscribe(schema+"."+topic, func(payload string) { b.hear(topic, payload) })
	}
	return nil
}

func (b *bridge) Unlisten(_ context.Context, topic string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.subs[topic]; cancel != nil {
		cancel()
		delete(b.subs, topic)
	}
	return nil
}

func (b *bridge) Close(ctx context.Context) error {
	b.mu.Lock()
	topics := make([]string, 0, len(b.subs))
	for t := range b.subs {
		topics = append(topics, t)
	}
	b.mu.Unlock()
	for _, t := range topics {
		_ = b.Unlisten(ctx, t) // cannot fail
	}
	return nil
}

func (b *bridge) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case n := <-b.heard:
		n.Topic = strings.TrimPrefix(n.Topic, schema+".")
		return n, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
