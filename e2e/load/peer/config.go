// Package peer measures another sender against the receiver that Gatehouse was
// measured against, in the same run. It asks one thing of it: an HTTP address
// that takes an event and delivers it to endpoints.
package peer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Config says how to talk to the peer. It comes from the environment, so that
// secrets do not stand in a command line.
type Config struct {
	Name       string // what the results call it
	URL        string // where events are published
	Method     string
	Body       *template.Template // of an event: {{.ID}}, {{.N}}, {{.Type}}, {{.Data}} (JSON)
	Header     http.Header
	Receiver   string             // address to listen on
	Endpoint   string             // where endpoints are registered; empty: they are already
	Register   *template.Template // of an endpoint: {{.URL}}, {{.N}}, {{.Type}}
	Endpoints  int                // each event goes to all of them
	Events     int
	Publishers int
	Patience   time.Duration // how long nothing may arrive before it counts as lost
}

// Variables are what FromEnv reads, with what each means.
func Variables() [][2]string {
	return [][2]string{
		{"PEER_URL", "where an event is published; empty: no peer is measured"},
		{"PEER_NAME", "what the results call it (default peer)"},
		{"PEER_METHOD", "default POST"},
		{"PEER_HEADER", "headers as Name: value, one a line, of every request to the peer"},
		{"PEER_BODY", "template of an event's body"},
		{"PEER_RECEIVER", "where this receiver listens (default 127.0.0.1 and a free port); endpoint n is http://THERE/hook/hN, from h0"},
		{"PEER_ENDPOINT_URL", "where an endpoint is registered by POST; empty: the endpoints are registered already"},
		{"PEER_ENDPOINT_BODY", "template of an endpoint's body"},
		{"PEER_ENDPOINTS", "how many endpoints each event goes to (default 10)"},
		{"PEER_EVENTS", "how many events are published at once (default 5000)"},
		{"PEER_PUBLISHERS", "how many requests publish at once (default 16)"},
	}
}

// Bodies of a peer that says nothing else: those of Standard Webhooks.
const (
	defaultBody     = `{"id": "{{.ID}}", "type": "{{.Type}}", "data": {{.Data}}}`
	defaultRegister = `{"url": "{{.URL}}", "event_types": ["{{.Type}}"]}`
)

// FromEnv reads the variables; wanted is false if none names a peer. The error
// names every variable that cannot be used, never its value.
func FromEnv(env func(string) string) (c Config, wanted bool, err error) {
	or := func(name, otherwise string) string {
		if v := env(name); v != "" {
			return v
		}
		return otherwise
	}
	var wrong []error
	number := func(name string, otherwise int) int {
		n, err := strconv.Atoi(or(name, strconv.Itoa(otherwise)))
		if err != nil || n < 1 || n > 1_000_000 {
			wrong = append(wrong, fmt.Errorf("%s is not a number from 1 on", name))
		}
		return n
	}
	parse := func(name, otherwise string) *template.Template {
		t, err := template.New(name).Option("missingkey=error").Parse(or(name, otherwise))
		if err == nil {
			_, err = fill(t, event{})
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s is not a template: %w", name, err))
		}
		return t
	}
	c = Config{
		Name: or("PEER_NAME", "peer"), URL: env("PEER_URL"), Method: or("PEER_METHOD", http.MethodPost), Receiver: or("PEER_RECEIVER", "127.0.0.1:0"),
		Endpoint: env("PEER_ENDPOINT_URL"), Body: parse("PEER_BODY", defaultBody), Register: parse("PEER_ENDPOINT_BODY", defaultRegister),
		Endpoints: number("PEER_ENDPOINTS", 10), Events: number("PEER_EVENTS", 5000), Publishers: number("PEER_PUBLISHERS", 16),
		Header: http.Header{"Content-Type": {"application/json"}}, Patience: 30 * time.Second,
	}
	for line := range strings.Lines(env("PEER_HEADER")) {
		name, value, found := strings.Cut(line, ":")
		if !found {
			wrong = append(wrong, errors.New("PEER_HEADER has a line that is not Name: value"))
			continue
		}
		c.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return c, c.URL != "", errors.Join(wrong...)
}

// event is what templates may use.
type event struct {
	ID, Type, URL string
	N             int
	Data          string
}

func newEvent(n int) event {
	data, err := json.Marshal(map[string]string{"op": "updated", "note_id": "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"})
	if err != nil {
		panic(err) // two strings are always JSON
	}
	return event{ID: fmt.Sprintf("0197d0f0-5f2c-7c3e-9d50-%012x", n), Type: "load.t0", N: n, Data: string(data)}
}

func fill(t *template.Template, e event) ([]byte, error) {
	var b bytes.Buffer
	err := t.Execute(&b, e)
	return b.Bytes(), err
}
