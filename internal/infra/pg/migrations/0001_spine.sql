-- The schema of Gatehouse. Applied to an empty database; migrations bring an older one here.
-- Every table says whether its rows emit events. Times that order things are clock_timestamp().
-- Trigger functions set their search_path and qualify names: pg_dump restores with an empty one.

create function public.uuid_v7() returns uuid
language sql volatile parallel safe
set search_path = ''
as $$
  -- RFC 9562: 48 bits of unix milliseconds, version 7, variant 2, the rest random (PostgreSQL has it from 18 on).
  select pg_catalog.encode(
    pg_catalog.set_bit(
      pg_catalog.set_bit(
        overlay(pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
          placing substring(pg_catalog.int8send((pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::bigint) from 3)
          from 1 for 6),
        52, 1),
      53, 1), 'hex')::uuid
$$;

-- events: none (bookkeeping of the migrator)
create table public.schema_stamp (
  one        boolean primary key default true check (one),
  version    integer not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- events: none (one row; its facts are recorded by use cases)
create table public.owners (
  id            uuid primary key default public.uuid_v7(),
  email         text,
  name          text not null default '',
  password_hash text,
  zone          text not null default 'UTC',
  site_title    text not null default 'Gatehouse',
  site_tagline  text not null default '',
  single_keys   boolean not null default true,
  created_at    timestamptz not null default clock_timestamp(),
  set_up_at     timestamptz
);
insert into public.owners default values;

-- events: none (sign-in is recorded as owner.login)
create table public.sessions (
  token_hash bytea primary key,
  owner_id   uuid not null references public.owners (id) on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  seen_at    timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  address    text not null default '',
  user_agent text not null default ''
);
create index sessions_expires on public.sessions (expires_at);

-- events: none (a one-time link; only its hash is kept)
create table public.setup_tokens (
  token_hash bytea primary key,
  reset      boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);

-- events: none (counters of failed sign-ins, pruned hourly)
create table public.login_failures (
  address text not null,
  at      timestamptz not null default clock_timestamp()
);
create index login_failures_address on public.login_failures (address, at);

-- events: none (bearer tokens of the owner's AI and scripts; only hashes are kept)
create table public.tokens (
  id         uuid primary key default public.uuid_v7(),
  owner_id   uuid not null references public.owners (id) on delete cascade,
  name       text not null,
  token_hash bytea not null unique,
  classes    text[] not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  used_at    timestamptz,
  revoked_at timestamptz
);

-- events: none (it is the outbox)
-- txid: the transaction that made the row due, its birth or its last requeue. Rows are claimed in this order, because
-- a transaction not visible to an earlier look cannot have an id below that look's pg_snapshot_xmin: the relay starts
-- there instead of wading through the dead entries that a forgotten snapshot keeps (field case F05).
create table public.events (
  id            uuid primary key default public.uuid_v7(),
  seq           bigint generated always as identity,
  owner_id      uuid not null,
  type          text not null,
  subject       text not null,
  data          jsonb not null default '{}',
  cause         jsonb default nullif(current_setting('gatehouse.cause', true), '')::jsonb,
  txid          xid8 not null default pg_current_xact_id(),
  occurred_at   timestamptz not null default clock_timestamp(),
  fanned_out_at timestamptz,
  fanout        jsonb,
  attempts      integer not null default 0,
  retry_at      timestamptz,
  last_error    text,
  poisoned_at   timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 80);
create unique index events_seq on public.events (seq);
create index events_waiting on public.events (txid, seq) where fanned_out_at is null and poisoned_at is null;
create index events_poisoned on public.events (seq) where poisoned_at is not null;
create index events_fanned_out_at on public.events (fanned_out_at) where fanned_out_at is not null;
create index events_txid on public.events (txid);
create index events_type on public.events (type, seq desc);
-- A subject can be longer than an index entry may be (2,704 bytes); the save must not fail for that.
create index events_subject on public.events (left(subject, 200), seq desc);

-- events: none (which subscription lists have run; the newest live one relays)
create table public.registries (
  version    bigint generated always as identity primary key,
  hash       text not null unique,
  created_at timestamptz not null default clock_timestamp()
);

-- events: none (heartbeats)
create table public.processes (
  id         uuid primary key,
  role       text not null,
  version    text not null,
  registry   bigint not null default 0,
  queues     jsonb not null default '{}',
  lock_key   bigint not null,
  skew_ms    bigint not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  beat_at    timestamptz not null default clock_timestamp(),
  stopped_at timestamptz
);

-- events: none (schedules; River keeps its own in memory only)
create table public.periodic_runs (
  name       text primary key,
  paused     boolean not null default false,
  last_run   timestamptz,
  next_run   timestamptz not null default clock_timestamp(),
  running    bigint,
  history    jsonb not null default '[]',
  updated_at timestamptz not null default clock_timestamp()
);

-- events: emit
create table public.notes (
  id             uuid primary key default public.uuid_v7(),
  owner_id       uuid not null references public.owners (id),
  genre          text not null check (genre in ('raw', 'wiki', 'writing')),
  parent_id      uuid references public.notes (id) on delete cascade,
  segment        text not null,
  path           text not null,
  title          text not null,
  body           text not null default '',
  tags           text[] not null default '{}',
  aliases        text[] not null default '{}',
  description    text not null default '',
  published      boolean not null default false,
  published_at   timestamptz,
  published_path text,
  dated          timestamptz,
  position       integer not null default 0,
  folder         boolean not null default false,
  source_path    text,
  source_hash    text,
  source_edited  bigint,
  version        bigint not null default 1,
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp(),
  viewed_at      timestamptz,
  deleted_at     timestamptz,
  trash_batch    uuid,
  constraint notes_raw_private check (genre <> 'raw' or not published),
  constraint notes_tree check (genre = 'wiki' or parent_id is null)
);
create unique index notes_address on public.notes (owner_id, genre, path) where deleted_at is null;
create unique index notes_source on public.notes (owner_id, source_path) where source_path is not null and deleted_at is null;
create index notes_parent on public.notes (parent_id);
create index notes_published on public.notes (genre, published_at desc) where published and deleted_at is null;
create index notes_trash on public.notes (trash_batch) where deleted_at is not null;
create index notes_tags on public.notes using gin (tags);

-- events: none (old addresses; follow the note)
create table public.note_addresses (
  owner_id uuid not null references public.owners (id),
  genre    text not null,
  path     text not null,
  note_id  uuid not null references public.notes (id) on delete cascade,
  since    timestamptz not null default clock_timestamp(),
  primary key (owner_id, genre, path)
);
create index note_addresses_note on public.note_addresses (note_id);

-- events: none (derived from bodies; rewritten with the note)
create table public.note_links (
  note_id uuid not null references public.notes (id) on delete cascade,
  target  text not null,
  heading text not null default '',
  embed   boolean not null default false,
  primary key (note_id, target, heading, embed)
);
create index note_links_target on public.note_links (target);

-- events: none (files beside notes; their rights follow the notes that use them)
create table public.attachments (
  id          uuid primary key default public.uuid_v7(),
  owner_id    uuid not null references public.owners (id),
  name        text not null,
  source_path text not null,
  media_type  text not null,
  size        bigint not null,
  hash        text not null,
  body        bytea not null,
  created_at  timestamptz not null default clock_timestamp(),
  unique (owner_id, source_path)
);

-- events: none (a finished import is recorded as vault.imported)
create table public.imports (
  id          uuid primary key default public.uuid_v7(),
  owner_id    uuid not null references public.owners (id),
  source      text not null,
  state       text not null default 'running' check (state in ('running', 'completed', 'failed')),
  total       integer not null default 0,
  done        integer not null default 0,
  counts      jsonb not null default '{}',
  error       text not null default '',
  created_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);

-- events: none (one line of an import's report)
create table public.import_files (
  import_id uuid not null references public.imports (id) on delete cascade,
  n         integer not null,
  path      text not null,
  outcome   text not null check (outcome in ('imported', 'unchanged', 'kept', 'skipped', 'refused')),
  reason    text not null default '',
  line      integer not null default 0,
  note_id   uuid,
  primary key (import_id, n)
);

-- events: none (the default search engine's own index, rebuilt from notes)
create table public.search_documents (
  id         uuid primary key,
  genre      text not null,
  title      text not null,
  aliases    text[] not null default '{}',
  tags       text[] not null default '{}',
  body       text not null,
  published  boolean not null,
  updated_at timestamptz not null,
  version    bigint not null,
  terms      tsvector not null
);
create index search_documents_terms on public.search_documents using gin (terms);

-- The address rule. Its twin is corpus.Segment in Go; TestSegmentRule holds the two together.
create function public.note_segment(title text) returns text
language plpgsql immutable
set search_path = ''
as $$
begin
  raise exception 'note_segment is defined by the corpus domain';
end
$$;

create function public.notes_refuse_truncate() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  -- TRUNCATE fires no row trigger: every deleted note would stay in search (field case F06).
  raise exception 'notes cannot be truncated: delete the rows, so that each deletion is heard'
    using errcode = 'feature_not_supported';
end
$$;
create trigger notes_truncate before truncate on public.notes
  for each statement execute function public.notes_refuse_truncate();
