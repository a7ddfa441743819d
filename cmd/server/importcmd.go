package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gatehouse-hq/gatehouse/docs/guide"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus/vault"
)

// importVault reads a folder or zip and reports every file. The server may be
// running or not: events wait in the outbox for whoever relays next.
func importVault(ctx context.Context, p *program, args []string) (err error) {
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	publish := flags.Bool("publish", false, "publish notes that do not say")
	name := flags.String("name", "", "name of the vault; the folder's name when left out")
	if err := flagsOf(flags, args, 1); err != nil {
		return err
	}
	v, err := vault.Open(flags.Arg(0), vault.DefaultLimits())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is nothing at %s", flags.Arg(0))
	}
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, v.Close()) }()
	a, err := assemble(ctx, p, partsForCommands)
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, a.close()) }()
	if *name == "" {
		*name = vaultName(flags.Arg(0))
	}
	report, err := a.corpus.Import(ctx, v, corpus.ImportOptions{Name: *name, PublishDefault: *publish, Progress: p.progress()})
	switch {
	case err != nil && ctx.Err() != nil:
		if isTerminal(p.errOut) {
			fmt.Fprintln(p.errOut) // the progress stands on an unfinished line
		}
		return errors.New("stopped half way; what is stored stays, and the same command again brings the rest")
	case err != nil:
		return err
	case report.Total == 0:
		fmt.Fprintln(p.out, "There is no file in it; nothing was imported.")
		return nil
	}
	return p.report(ctx, a.corpus, report)
}

func vaultName(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	base := filepath.Base(abs)
	return base[:len(base)-len(filepath.Ext(base))]
}

// progress says how far an import is, on the terminal's error side, so that
// the report can be kept by itself. What is no terminal keeps lines, and gets none.
func (p *program) progress() func(done, total int) {
	if !isTerminal(p.errOut) {
		return func(int, int) {}
	}
	return func(done, total int) {
		if done == total || done%100 == 0 {
			fmt.Fprintf(p.errOut, "\r%d of %d files", done, total)
		}
		if done == total {
			fmt.Fprintln(p.errOut)
		}
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// report prints one line for every file that needs a look, and the counts.
func (p *program) report(ctx context.Context, notes *corpus.Domain, r corpus.ImportReport) error {
	for cursor := ""; ; {
		files, next, err := notes.ImportFiles(ctx, r.ID, "", cursor, 100)
		if err != nil {
			return err
		}
		for _, f := range files {
			line := fmt.Sprintf("%-9s %s", f.Outcome, f.Path)
			if f.Line > 0 {
				line += fmt.Sprintf(":%d", f.Line)
			}
			if f.Reason != "" {
				line += " (" + f.Reason + ")"
			}
			fmt.Fprintln(p.out, line)
		}
		if cursor = next; next == "" {
			break
		}
	}
	for _, o := range corpus.Outcomes() {
		if n := r.Counts[o]; n > 0 {
			fmt.Fprintf(p.out, "%d %s  ", n, o)
		}
	}
	fmt.Fprintln(p.out)
	return nil
}

// importGuide puts the manual into a database that holds no note yet.
func (a *app) importGuide(ctx context.Context) error {
	if !a.cfg.demo {
		return nil
	}
	var used bool
	if err := a.pool.QueryRow(ctx, `select exists (select 1 from notes) or exists (select 1 from imports)`).Scan(&used); err != nil || used {
		return err
	}
	archive, err := zipped(guide.Notes)
	if err != nil {
		return err
	}
	v, err := vault.OpenZip(bytes.NewReader(archive), int64(len(archive)), vault.DefaultLimits())
	if err != nil {
		return fmt.Errorf("open the guide: %w", err)
	}
	defer v.Close()
	_, err = a.corpus.Import(ctx, v, corpus.ImportOptions{Name: "guide"})
	return err
}

// zipped makes an archive of an embedded tree: the importer reads what people
// can bring, and an embedded tree is nothing people can.
func zipped(tree fs.FS) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := w.AddFS(tree); err != nil {
		return nil, fmt.Errorf("pack the guide: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the guide: %w", err)
	}
	return out.Bytes(), nil
}
