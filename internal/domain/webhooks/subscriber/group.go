package subscriber

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// group does for many callers at once what costs one statement: whoever finds nobody at it takes everything that is
// queued, and those who come meanwhile are the next group. There is no timer: an idle group answers at once, and a busy
// one grows (a 10 ms timer starved 64 workers when measured).
type group[Q, A any] struct {
	run  func(ctx context.Context, in []Q) ([]A, error)
	most int // of one group
	// apart, if set, keeps two questions out of one group; the later one waits for the next.
	apart func(Q) string

	mu    sync.Mutex
	queue []*asked[Q, A]
	busy  bool
}

type asked[Q, A any] struct {
	q    Q
	a    A
	err  error
	lead bool // not answered: take the next group yourself
	done chan struct{}
}

// groupTime bounds one run. It does not depend on one caller's context, because the others' answers hang on it.
const groupTime = 10 * time.Second

// do answers q. It does not give up before the answer is there: what was queued may be written already.
func (g *group[Q, A]) do(ctx context.Context, q Q) (A, error) {
	me := &asked[Q, A]{q: q, done: make(chan struct{})}
	g.mu.Lock()
	g.queue = append(g.queue, me)
	if g.busy {
		g.mu.Unlock()
		<-me.done
		if !me.lead {
			return me.a, me.err
		}
		g.mu.Lock()
	}
	g.busy = true
	mine := g.take()
	g.mu.Unlock()
	g.answer(ctx, mine)
	g.handOver()
	for _, c := range mine {
		if c != me {
			close(c.done)
		}
	}
	return me.a, me.err
}

// take removes the next group from the queue. Its leader is the first in it.
func (g *group[Q, A]) take() []*asked[Q, A] {
	if g.apart == nil {
		n := min(len(g.queue), g.most)
		mine := g.queue[:n:n]
		g.queue = append([]*asked[Q, A](nil), g.queue[n:]...)
		return mine
	}
	var mine, rest []*asked[Q, A]
	seen := map[string]bool{}
	for _, c := range g.queue {
		key := g.apart(c.q)
		if len(mine) == g.most || seen[key] {
			rest = append(rest, c)
			continue
		}
		seen[key] = true
		mine = append(mine, c)
	}
	g.queue = rest
	return mine
}

func (g *group[Q, A]) answer(ctx context.Context, mine []*asked[Q, A]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), groupTime)
	defer cancel()
	in := make([]Q, len(mine))
	for i, c := range mine {
		in[i] = c.q
	}
	out, err := g.run(ctx, in)
	if err == nil && len(out) != len(in) {
		err = fmt.Errorf("%d answers to %d questions", len(out), len(in))
	}
	for i, c := range mine {
		if c.err = err; err == nil {
			c.a = out[i]
		}
	}
}

// handOver makes the first in the queue the next leader.
func (g *group[Q, A]) handOver() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.busy = false
		return
	}
	next := g.queue[0]
	next.lead = true
	close(next.done)
}
