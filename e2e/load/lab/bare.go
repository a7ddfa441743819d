package lab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gatehouse-hq/gatehouse/internal/infra/events/webhook"
)

// Bare is what a receiver takes from a client that does nothing else: the same
// signed body again and again over connections that stay open, each with one
// request at a time. No sender can beat it by much, so it is the reference of
// the deliveries measured in the same run.
func Bare(ctx context.Context, address string, conns int, length time.Duration) (perSecond float64, took []time.Duration, err error) {
	request, host, err := signed(address)
	if err != nil {
		return 0, nil, err
	}
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	started := time.Now()
	for range conns {
		all.Go(func() {
			mine, err := converse(ctx, host, request, started.Add(length))
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
			if err != nil {
				failed = err
			}
		})
	}
	all.Wait()
	return float64(len(took)) / time.Since(started).Seconds(), took, failed
}

// signed is a whole request as the product would send it.
func signed(address string) (request []byte, host string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", fmt.Errorf("address of the receiver: %w", err)
	}
	const id = "0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b11"
	now := time.Now()
	body, err := webhook.Body{Type: "corpus.note.changed", Timestamp: now, ID: id, Seq: 4711, Subject: "load/1",
		Data: []byte(`{"op": "updated", "note_id": "` + id + `"}`)}.Encode()
	if err != nil {
		return nil, "", err
	}
	signature, err := webhook.GenerateSecret().Signature(id, now, body)
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bare\r\nContent-Type: application/json\r\nWebhook-Id: %s\r\nWebhook-Timestamp: %s\r\nWebhook-Signature: %s\r\nContent-Length: %d\r\n\r\n",
		u.RequestURI(), u.Host, id, strconv.FormatInt(now.Unix(), 10), signature, len(body))
	b.Write(body)
	return b.Bytes(), u.Host, nil
}

// converse sends request after request until the end and times each.
func converse(ctx context.Context, host string, request []byte, end time.Time) (took []time.Duration, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(end.Add(10 * time.Second)); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	for time.Now().Before(end) && ctx.Err() == nil {
		started := time.Now()
		if _, err := conn.Write(request); err != nil {
			return took, err
		}
		for { // the answer of the lean receiver has no body
			line, err := in.ReadSlice('\n')
			if err != nil {
				return took, fmt.Errorf("read the answer: %w", err)
			}
			if len(bytes.TrimSpace(line)) == 0 {
				break
			}
		}
		took = append(took, time.Since(started))
	}
	return took, ctx.Err()
}
