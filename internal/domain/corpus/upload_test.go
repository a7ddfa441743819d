package corpus_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/subscriber"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// tray is a queue that only collects.
type tray struct {
	jobs.Jobs
	args []json.RawMessage
	fail bool
}

func (q *tray) With(pg.Tx) jobs.Jobs { return q }

func (q *tray) Enqueue(_ context.Context, kind string, args any, _ jobs.EnqueueOpts) (jobs.ID, error) {
	if q.fail {
		return 0, errors.New("the queue is down")
	}
	raw, err := json.Marshal(args)
	q.args = append(q.args, raw)
	return jobs.ID(len(q.args)), err
}

func zipOf(t *testing.T, files map[string]string) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func TestUploadedVault(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	q := &tray{}
	h.notes.Connect(corpus.Queue{Jobs: q})
	id, err := h.notes.ImportUpload(ctx, zipOf(t, map[string]string{"a.md": "one", "b/c.md": "two"}), corpus.ImportOptions{Name: "My vault", PublishDefault: true})
	if err != nil {
		t.Fatal(err)
	}
	h.recorded() // nothing yet: the task does it
	if r, err := h.notes.ImportStatus(ctx, id); err != nil || r.State != "running" || r.Total != 2 || r.Done != 0 {
		t.Errorf("while it waits: %+v, %v", r, err)
	}
	if err := subscriber.New(h.notes).Import(ctx, q.args[0]); err != nil {
		t.Fatal(err)
	}
	h.recorded("created wiki://a", "created wiki://b", "created wiki://b/c", "vault.imported vault://My vault")
	same(t, "addresses", h.paths(), []string{"wiki://a*", "wiki://b*", "wiki://b/c*"})
	r, err := h.notes.ImportStatus(ctx, id)
	if err != nil || r.State != "completed" || r.Counts[corpus.Imported] != 2 || r.FinishedAt == nil {
		t.Errorf("in the end: %+v, %v", r, err)
	}
	var uploads int
	if err := h.db.QueryRow(ctx, `select count(*) from public.import_uploads`).Scan(&uploads); err != nil || uploads != 0 {
		t.Errorf("%d uploads are left, %v", uploads, err)
	}
	if err := subscriber.New(h.notes).Import(ctx, q.args[0]); err != nil { // delivered twice
		t.Fatal(err)
	}
	h.recorded()
	if all, err := h.notes.Imports(ctx); err != nil || len(all) != 1 || all[0].ID != id {
		t.Errorf("imports %+v, %v", all, err)
	}
	for _, args := range []string{`{}`, `{"import_id":"x"}`, `[]`} {
		var d *jobs.DiscardError
		if err := subscriber.New(h.notes).Import(ctx, json.RawMessage(args)); !errors.As(err, &d) {
			t.Errorf("%s: got %v, want it discarded", args, err)
		}
	}
	if err := subscriber.New(h.notes).Import(ctx, json.RawMessage(`{"import_id":"`+nobody+`"}`)); op.CodeOf(err) != op.NotFound {
		t.Errorf("an import that never was: %v", err)
	}
}

// Upload, report and task come into being together or not at all.
func TestUploadWithoutAQueue(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.notes.Connect(corpus.Queue{Jobs: &tray{fail: true}})
	if _, err := h.notes.ImportUpload(t.Context(), zipOf(t, map[string]string{"a.md": "one"}), corpus.ImportOptions{Name: "v"}); err == nil {
		t.Error("accepted although the queue is down")
	}
	if all, err := h.notes.Imports(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("imports %+v, %v", all, err)
	}
}
