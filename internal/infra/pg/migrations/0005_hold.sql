-- What a restored or copied database is recognised by, and the hold that keeps its sends back.

-- events: none (one row: which database this is, so that a copy is told by the difference; null: the role may not ask)
create table public.instance (
  one              boolean primary key default true check (one),
  id               uuid not null default public.uuid_v7(),
  system_id        bigint,
  timeline         bigint,
  database_oid     bigint not null,
  events_oid       bigint not null,
  created_at       timestamptz not null default clock_timestamp(),
  backup_at        timestamptz,
  backup_elsewhere boolean not null default false
);

-- events: none (the data directories whose programs serve this database; each start changes its nonce)
create table public.instance_homes (
  id         uuid primary key,
  nonce      uuid not null,
  started_at timestamptz not null default clock_timestamp()
);

-- events: none (while one is open, nothing is sent; until_seq: events up to it came with the copy, later ones happened here)
create table public.holds (
  id          uuid primary key default public.uuid_v7(),
  reason      text not null,
  until_seq   bigint not null,
  sessions    integer not null default 0,
  touched     integer not null default 0,
  set_at      timestamptz not null default clock_timestamp(),
  released_at timestamptz,
  choice      text check (choice in ('send', 'drop'))
);
create unique index holds_open on public.holds ((true)) where released_at is null;
