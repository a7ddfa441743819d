package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
	"github.com/gatehouse-hq/gatehouse/internal/infra/jobs"
	"github.com/gatehouse-hq/gatehouse/internal/infra/op"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
)

// UploadLimit is the largest archive that is taken from a browser, in bytes.
const UploadLimit = 100 << 20

// ImportOptions are the choices of an import.
type ImportOptions struct {
	// Name is the vault's: files are recognised by it and their path when the
	// vault is imported again.
	Name string `json:"name"`
	// Into is the note of the wiki that the vault is put below; empty is the top.
	Into string `json:"into,omitempty"`
	// PublishDefault publishes the notes that say nothing about it themselves.
	PublishDefault bool `json:"publish_default,omitempty"`
	// Progress is told after each batch; may be nil.
	Progress func(done, total int) `json:"-"`
}

func (o ImportOptions) clean() (ImportOptions, error) {
	name, err := cleanLine("name", o.Name, 200)
	if err != nil {
		return o, err
	}
	if o.Name = strings.Trim(strings.ReplaceAll(name, "/", "-"), " ."); o.Name == "" {
		o.Name = "vault"
	}
	if o.Into != "" && !pg.ValidUUID(o.Into) {
		return o, op.Invalidf("into", "There is no such note.")
	}
	return o, nil
}

// Import reads an opened vault. Files that are as they were at the last import
// under the same name change nothing and emit nothing; where a note was changed
// here since, what is here wins and the file is reported as kept. Every file
// ends with one line of the report. Stopped half-way, what was done stays, and
// the same import done again does the rest.
func (d *Domain) Import(ctx context.Context, v *vault.Vault, o ImportOptions) (ImportReport, error) {
	var id string
	if err := d.db.QueryRow(ctx, `select public.uuid_v7()::text`).Scan(&id); err != nil {
		return ImportReport{}, fmt.Errorf("begin the import: %w", err)
	}
	return d.importAs(ctx, id, v, o)
}

func (d *Domain) importAs(ctx context.Context, id string, v *vault.Vault, o ImportOptions) (ImportReport, error) {
	o, err := o.clean()
	if err != nil {
		return ImportReport{}, err
	}
	if o.Into != "" {
		if n, err := d.Get(ctx, o.Into); err != nil || n.Genre != Wiki {
			return ImportReport{}, op.Invalidf("into", "There is no such note in the wiki.")
		}
	}
	if err := d.store().beginImport(ctx, id, o.Name, v.Len()); err != nil {
		return ImportReport{}, err
	}
	im := &importer{d: d, id: id, o: o, counts: map[Outcome]int{}, parents: map[string]string{"": o.Into, ".": o.Into}, taken: map[string]map[string]bool{}}
	if err = im.run(ctx, v); err == nil {
		err = im.finish(ctx)
	}
	if err != nil {
		problem := "It was stopped half-way by a fault of the server. What was done is kept; import again for the rest."
		return ImportReport{}, errors.Join(err, d.store().failImport(context.WithoutCancel(ctx), id, problem))
	}
	return d.ImportStatus(ctx, id)
}

// ImportArgs are the args of ImportKind.
type ImportArgs struct {
	ImportID string `json:"import_id"`
	Name     string `json:"name"`
}

func importSubject(raw json.RawMessage) string {
	var a ImportArgs
	if json.Unmarshal(raw, &a) != nil {
		return ""
	}
	return a.Name
}

// ImportUpload takes a zip archive, at most UploadLimit bytes really read, and
// queues its import. The report can be read at once under the id.
func (d *Domain) ImportUpload(ctx context.Context, archive io.Reader, o ImportOptions) (importID string, err error) {
	o, err = o.clean()
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(io.LimitReader(archive, UploadLimit+1))
	if err != nil {
		return "", op.Wrap(err, op.Invalid, "The upload was cut off. Nothing was imported; please send it again.")
	}
	if len(body) > UploadLimit {
		return "", op.Errorf(op.TooLarge, "The archive is larger than %d MiB. Import it on the server instead: gatehouse import PATH.", UploadLimit>>20)
	}
	v, err := vault.OpenZip(bytes.NewReader(body), int64(len(body)), vault.DefaultLimits())
	if err != nil {
		return "", refuseVault(err)
	}
	options, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("store the upload: %w", err)
	}
	err = pg.InTx(ctx, d.db, func(tx pg.Tx) error {
		s := store{q: tx}
		if err := tx.QueryRow(ctx, `select public.uuid_v7()::text`).Scan(&importID); err != nil {
			return err
		}
		if err := s.beginImport(ctx, importID, o.Name, v.Len()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `insert into public.import_uploads (import_id, options, body) values ($1, $2, $3)`, importID, options, body); err != nil {
			return fmt.Errorf("store the upload: %w", err)
		}
		_, err := d.queue.Jobs.With(tx).Enqueue(ctx, ImportKind, ImportArgs{ImportID: importID, Name: o.Name}, jobs.EnqueueOpts{})
		return err
	})
	return importID, err
}

func refuseVault(err error) error {
	switch {
	case errors.Is(err, vault.ErrNotVault):
		return op.Invalidf("archive", "This is no zip archive that can be read.")
	case errors.Is(err, vault.ErrTooManyFiles):
		return op.Invalidf("archive", "The archive holds more than %d files.", vault.DefaultLimits().Files)
	}
	return op.Wrap(err, op.Invalid, "The archive cannot be read. Nothing was imported.")
}

// ImportUploaded does the import of an upload. An upload that is gone was
// imported already.
func (d *Domain) ImportUploaded(ctx context.Context, id string) (ImportReport, error) {
	var options, body []byte
	err := d.db.QueryRow(ctx, `select options, body from public.import_uploads where import_id = $1`, id).Scan(&options, &body)
	if pg.NoRows(err) {
		return d.ImportStatus(ctx, id)
	}
	if err != nil {
		return ImportReport{}, fmt.Errorf("read the upload: %w", err)
	}
	var o ImportOptions
	if err := json.Unmarshal(options, &o); err != nil {
		return ImportReport{}, jobs.Discard(fmt.Errorf("read the options of the upload: %w", err))
	}
	v, err := vault.OpenZip(bytes.NewReader(body), int64(len(body)), vault.DefaultLimits())
	if err != nil {
		return ImportReport{}, jobs.Discard(errors.Join(err, d.store().endImport(ctx, id, "failed", "The archive cannot be read.")))
	}
	return d.importAs(ctx, id, v, o)
}

// failImport leaves the upload, so that the task can be retried.
func (s store) failImport(ctx context.Context, id, problem string) error {
	_, err := s.q.Exec(ctx, `update public.imports set state = 'failed', error = $2, finished_at = clock_timestamp() where id = $1`, id, problem)
	return err
}
