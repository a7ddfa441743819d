package meili

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meilisearch/meilisearch-go"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

const (
	// key is the primary key: the id of the note's row.
	key = "id"
	// defaultIndex is the name of the index.
	defaultIndex = "gatehouse_notes"
	// callTimeout ends each request, writeTimeout a whole change with its task.
	// A job has 30 s.
	callTimeout  = 5 * time.Second
	writeTimeout = 20 * time.Second
	// maxPayload bytes of text in maxDocuments go to the server at once; it
	// takes 100 MiB.
	maxPayload   = 16 << 20
	maxDocuments = 1_000
	// page is how many documents Each asks for at once.
	page = 10_000
)

// Options change what need not be as it is by default.
type Options struct {
	Index        string        // default gatehouse_notes
	CallTimeout  time.Duration // of one request; default 5 s
	WriteTimeout time.Duration // of a change, its task awaited; default 20 s
}

// Engine keeps its index in a Meilisearch server. It is safe for concurrent use.
type Engine struct {
	server meilisearch.ServiceManager
	uid    string
	url    string // for errors, without a password
	call   time.Duration
	write  time.Duration
	// settled is when the index whose settings are known to be right was made,
	// in nanoseconds: an index made anew after a wipe has another time.
	settled atomic.Int64
}

var _ search.Engine = (*Engine)(nil)

// New returns the engine at address, an http or https URL. It connects to
// nothing yet.
func New(address, apiKey string, o Options) (*Engine, error) {
	shown, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of Meilisearch: %w", err)
	}
	server := meilisearch.New(strings.TrimRight(address, "/"), meilisearch.WithAPIKey(apiKey), meilisearch.DisableRetries(),
		meilisearch.WithCustomClient(&http.Client{Transport: transport()}))
	uid := cmp.Or(o.Index, defaultIndex)
	return &Engine{server: server, uid: uid, url: shown.Redacted(),
		call: cmp.Or(o.CallTimeout, callTimeout), write: cmp.Or(o.WriteTimeout, writeTimeout)}, nil
}

func transport() http.RoundTripper {
	return &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
}

// index is a handle for one call: the client's remembers the primary key it was
// last told, without a lock (seen by the race detector with two workers).
func (e *Engine) index() meilisearch.IndexManager { return e.server.Index(e.uid) }

// Name is shown to the operator.
func (e *Engine) Name() string { return "Meilisearch" }

// Upsert writes documents and returns when they can be found. A document older
// than the one held is left out; see the package's word on versions.
func (e *Engine) Upsert(ctx context.Context, docs []search.Document) error {
	for len(docs) > 0 {
		n, size := 0, 0
		for n < min(len(docs), maxDocuments) && (n == 0 || size+len(docs[n].Body) <= maxPayload) {
			size += len(docs[n].Body)
			n++
		}
		if err := e.upsert(ctx, docs[:n]); err != nil {
			return fmt.Errorf("index %d documents: %w", n, err)
		}
		docs = docs[n:]
	}
	return nil
}

func (e *Engine) upsert(ctx context.Context, docs []search.Document) error {
	ctx, cancel := context.WithTimeout(ctx, e.write)
	defer cancel()
	if err := e.settle(ctx, false); err != nil {
		return err
	}
	held, err := e.versions(ctx, docs)
	if err != nil {
		return err
	}
	fresh := make([]search.Document, 0, len(docs))
	for _, d := range docs {
		if v, known := held[d.ID]; known && v > d.Version {
			continue
		}
		d.UpdatedAt = d.UpdatedAt.UTC() // ranked as text
		fresh = append(fresh, d)
	}
	if len(fresh) == 0 {
		return nil
	}
	return e.change(ctx, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		stated := key
		return e.index().AddDocuments(ctx, fresh, &meilisearch.DocumentOptions{PrimaryKey: &stated})
	})
}

// versions are those held of some documents.
func (e *Engine) versions(ctx context.Context, docs []search.Document) (map[string]int64, error) {
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = `"` + d.ID + `"`
	}
	got, err := e.fetch(ctx, &meilisearch.DocumentsQuery{Filter: key + " IN [" + strings.Join(ids, ", ") + "]", Limit: int64(len(ids))})
	out := make(map[string]int64, len(got))
	for _, h := range got {
		out[h.ID] = h.Version
	}
	return out, err
}

// Remove deletes documents and returns when they are gone; ids that are not
// there are fine.
func (e *Engine) Remove(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.write)
	defer cancel()
	err := e.change(ctx, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		return e.index().DeleteDocuments(ctx, ids, nil)
	})
	if isCode(err, meilisearch.APIErrCodeIndexNotFound) {
		return nil // no index holds no document
	}
	if err != nil {
		return fmt.Errorf("remove %d documents: %w", len(ids), err)
	}
	return nil
}

// Each collects everything held before it calls fn, so that fn may remove
// documents without moving the pages. What others write or remove meanwhile
// may be missed. Where there is no index, nothing is held.
func (e *Engine) Each(ctx context.Context, fn func([]search.Held) error) error {
	var all []search.Held
	for {
		got, err := e.fetch(ctx, &meilisearch.DocumentsQuery{Offset: int64(len(all)), Limit: page})
		if isCode(err, meilisearch.APIErrCodeIndexNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the index: %w", err)
		}
		all = append(all, got...)
		if len(got) < page {
			break
		}
	}
	for len(all) > 0 {
		n := min(len(all), 1000)
		if err := fn(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

func (e *Engine) fetch(ctx context.Context, q *meilisearch.DocumentsQuery) ([]search.Held, error) {
	q.Fields = []string{key, "version"}
	var res meilisearch.DocumentsResult
	err := e.request(ctx, func(ctx context.Context) error { return e.index().GetDocuments(ctx, q, &res) })
	if err != nil {
		return nil, err
	}
	out := make([]search.Held, 0, len(res.Results))
	for _, hit := range res.Results {
		h, err := heldOf(hit)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}
