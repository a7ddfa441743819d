package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/instance"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg"
	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/embedded"
	"github.com/gatehouse-hq/gatehouse/internal/infra/seal"
)

// restore brings a backup into an empty database, or with --replace into the place of the Gatehouse that is there. It is
// one transaction: killed at any point, the database is as before. Afterwards sends are on hold until the owner decides.
func restore(ctx context.Context, p *program, args []string) (err error) {
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	replace := flags.Bool("replace", false, "give up what the database holds now")
	if err := flagsOf(flags, args, 1); err != nil {
		return err
	}
	dir := flags.Arg(0)
	m, err := readManifest(ctx, dir)
	if err != nil {
		return err
	}
	if newest, err := pg.NewestVersion(pg.Migrations); err != nil || m.Schema > newest {
		return orFirst(err, fmt.Errorf("the backup has schema version %d and this program knows %d: restore it with Gatehouse %s or newer; nothing was changed", m.Schema, newest, m.Gatehouse))
	}
	key, err := sealKeyToRestore(p.cfg, m, dir)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, p.cfg, p.errOut)
	if err != nil {
		return err
	}
	defer func() { err = orFirst(err, db.close()) }()
	if err := pg.Exclusively(ctx, db.url, func(ctx context.Context, conn *pgx.Conn) error {
		if err := mayFill(ctx, conn, *replace); err != nil {
			return err
		}
		programs, err := toRestoreWith(ctx, conn, m)
		if err != nil {
			return err
		}
		if err := placeSealKey(p.cfg, key); err != nil {
			return err
		}
		return db.load(ctx, programs, filepath.Join(dir, dumpFile), *replace)
	}); err != nil {
		return err
	}
	a, err := assemble(ctx, p, partsForCommands) // migrates
	if err != nil {
		return fmt.Errorf("the backup is restored, but: %w", err)
	}
	defer func() { err = orFirst(err, a.close()) }()
	made := m.MadeAt.UTC().Format("2 January 2006 15:04 UTC")
	if err := a.recognise(ctx, "This database was restored from the backup of "+made+"."); err != nil {
		return fmt.Errorf("the backup is restored, but: %w", err)
	}
	if err := a.instance.BackedUpAt(ctx, m.MadeAt); err != nil {
		return fmt.Errorf("the backup is restored, but: %w", err)
	}
	_, err = fmt.Fprintf(p.out, `Restored the backup of %s. Everybody was signed out.
Sends are on hold: start the site, sign in, and choose at %s whether what waits is sent or dropped.
`, made, a.cfg.baseURL.String()+instance.Page)
	return err
}

// mayFill refuses a database that holds something.
func mayFill(ctx context.Context, conn *pgx.Conn, replace bool) error {
	var others, servers int
	var gatehouse bool
	err := conn.QueryRow(ctx, `
select count(*), to_regclass('public.schema_stamp') is not null,
  (select count(*) from pg_catalog.pg_stat_activity a where a.datname = current_database() and a.application_name in ('gatehouse all', 'gatehouse web', 'gatehouse worker'))
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\_%' and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
  and not exists (select from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`).Scan(&others, &gatehouse, &servers)
	switch {
	case err != nil:
		return fmt.Errorf("look what the database holds: %w", err)
	case others == 0:
		return nil
	case !gatehouse:
		return errors.New("the database holds tables that are not Gatehouse's; nothing was changed: make an empty database and name it in DATABASE_URL")
	case servers > 0:
		return errors.New("the site is running on this database; nothing was changed: stop it first")
	case !replace:
		return errors.New("the database holds a Gatehouse already; nothing was changed: restore into an empty database (another GATEHOUSE_DATA_DIR or DATABASE_URL), or say --replace to give up what it holds, after a backup of it")
	}
	return nil
}

// restorers are the programs that a restore takes.
type restorers struct{ pgRestore, psql string }

func toRestoreWith(ctx context.Context, conn *pgx.Conn, m manifest) (r restorers, err error) {
	var server int
	if err := conn.QueryRow(ctx, `select current_setting('server_version_num')::int / 10000`).Scan(&server); err != nil {
		return r, err
	}
	if server < m.PostgreSQL {
		return r, fmt.Errorf("the backup was made from PostgreSQL %d and this server is %d; nothing was changed: restore into PostgreSQL %d or newer", m.PostgreSQL, server, m.PostgreSQL)
	}
	if r.pgRestore, _, err = embedded.Client(ctx, "pg_restore", m.PgDump); err == nil {
		r.psql, _, err = embedded.Client(ctx, "psql", m.PgDump)
	}
	return r, err
}

// sealKeyToRestore decides about the key before anything is touched: it returns what is to be written, nil for nothing. A
// key that is there already is never overwritten: other secrets may be sealed under it.
func sealKeyToRestore(c config, m manifest, dir string) ([]byte, error) {
	if m.SealKey == "" {
		return nil, nil
	}
	path := filepath.Join(c.dataDir, seal.KeyFile)
	_, err := os.Stat(path)
	there := c.sealKey != "" || err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look for the seal key: %w", err)
	case !there && !m.SealKeyHere:
		return nil, errors.New("the secrets in this backup are sealed under a key that is not in it; nothing was changed: set GATEHOUSE_SEAL_KEY to what it was when the backup was made")
	case !there:
		return os.ReadFile(filepath.Join(dir, seal.KeyFile))
	}
	s, err := seal.Load(c.sealKey, c.dataDir)
	switch {
	case err != nil:
		return nil, err
	case s.KeyID() == m.SealKey:
		return nil, nil
	case c.sealKey != "":
		return nil, fmt.Errorf("GATEHOUSE_SEAL_KEY is key %s, but the secrets in this backup are sealed under key %s; nothing was changed: give that one, or unset it to take the one in the backup", s.KeyID(), m.SealKey)
	}
	return nil, fmt.Errorf("%s is key %s, but the secrets in this backup are sealed under key %s; nothing was changed: move the file away if nothing else needs it, and say it again", path, s.KeyID(), m.SealKey)
}

// placeSealKey comes before the database: a key too many does no harm, and a start without it would make another.
func placeSealKey(c config, key []byte) error {
	if key == nil {
		return nil
	}
	if err := os.MkdirAll(c.dataDir, 0o700); err != nil {
		return err
	}
	if err := writeDurably(filepath.Join(c.dataDir, seal.KeyFile), key); err != nil {
		return fmt.Errorf("put the seal key in its place: %w", err)
	}
	return syncPath(c.dataDir)
}

// load runs the dump as one transaction, which ends with a commit only when all of the dump has arrived.
func (d *database) load(ctx context.Context, r restorers, dump string, replace bool) error {
	source := exec.CommandContext(ctx, r.pgRestore, "--no-owner", "--no-privileges", "--file=-", dump) // writes SQL, asks no database
	target, err := client(ctx, r.psql, d.url, "--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--output="+os.DevNull)
	if err != nil {
		return err
	}
	var sourceSaid, targetSaid bytes.Buffer
	source.Stderr, target.Stderr = &sourceSaid, &targetSaid
	written, ended := pg.Script(target, func(in io.Writer) error {
		if replace {
			if _, err := io.WriteString(in, clearAll); err != nil {
				return err
			}
		}
		source.Stdout = in
		return source.Run()
	})
	switch {
	case written == nil && ended == nil:
		return nil
	case targetSaid.Len() > 0:
		return fmt.Errorf("nothing was changed: %w", failed("psql", orFirst(ended, written), &targetSaid))
	case sourceSaid.Len() > 0:
		return fmt.Errorf("nothing was changed: %w", failed("pg_restore", written, &sourceSaid))
	}
	return fmt.Errorf("nothing was changed: the restore was interrupted: %w", orFirst(written, ended))
}

// clearAll drops what Gatehouse and its queue have made, and nothing of extensions.
const clearAll = `
set client_min_messages = warning;
drop schema if exists river cascade;
do $$
declare
  it record;
begin
  for it in
    select 1 as turn, format('drop %s if exists %s cascade', case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, c.oid::regclass) as how
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'S') and not c.relispartition
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and (d.deptype = 'e' or c.relkind = 'S' and d.deptype in ('a', 'i')))
    union all
    select 2, format('drop function if exists %s cascade', p.oid::regprocedure)
    from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prokind = 'f' and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
    order by 1
  loop
    execute it.how;
  end loop;
end
$$;
`
