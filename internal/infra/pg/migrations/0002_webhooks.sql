-- Webhooks: endpoints, what they are owed, and the log of attempts.

-- events: none (configuration; what happens to deliveries is told by the log)
-- changed: field → version that last changed it, so that a stale page can be told what did. A deleted endpoint keeps its
-- row, without address and secrets, as long as its log.
create table public.webhook_endpoints (
  id              uuid primary key default public.uuid_v7(),
  owner_id        uuid not null references public.owners (id),
  url             text not null,
  description     text not null default '',
  event_types     text[] not null,
  headers         jsonb not null default '[]',
  secrets_enc     bytea,
  scheme          text not null default 'hmac' check (scheme in ('hmac', 'ed25519')),
  scope           text not null default 'published' check (scope in ('published', 'embed')),
  embed_id        uuid,
  enabled         boolean not null default true,
  disabled_reason text not null default '' check (disabled_reason in ('', 'paused', 'gone', 'failing')),
  disabled_at     timestamptz,
  max_per_second  integer not null default 0 check (max_per_second between 0 and 1000),
  version         bigint not null default 1,
  changed         jsonb not null default '{}',
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  deleted_at      timestamptz
);

-- events: none (changes by itself with every attempt, apart from what the owner edits)
-- pace_us: what one delivery takes there at present, in microseconds, so that other processes can predict the line.
create table public.webhook_endpoint_state (
  endpoint_id     uuid primary key references public.webhook_endpoints (id) on delete cascade,
  lease_token     uuid,
  busy_until      timestamptz,
  wanted_at       timestamptz,
  free_at         timestamptz,
  not_before      timestamptz,
  pace_us         integer not null default 0,
  failing_since   timestamptz,
  failed_attempts integer not null default 0,
  failed_days     integer not null default 0,
  failed_on       date
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- events: none (bookkeeping of the sender)
create table public.webhook_deliveries (
  endpoint_id uuid not null,
  event_id    uuid not null,
  state       text not null check (state in ('waiting', 'delivered', 'failed', 'parked', 'dropped', 'cancelled')),
  trigger     text not null default 'automatic' check (trigger in ('automatic', 'manual', 'test', 'recovery')),
  job_id      bigint,
  attempts    integer not null default 0,
  last_status integer not null default 0,
  last_error  text not null default '',
  created_at  timestamptz not null default clock_timestamp(),
  settled_at  timestamptz,
  primary key (endpoint_id, event_id)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index webhook_deliveries_open on public.webhook_deliveries (endpoint_id, state, event_id) where state <> 'delivered';
create index webhook_deliveries_settled on public.webhook_deliveries using brin (settled_at);

-- events: none (append-only log; a partition for each day)
create table public.webhook_attempts (
  endpoint_id       uuid not null,
  event_id          uuid not null,
  number            integer not null,
  started_at        timestamptz not null,
  trigger           text not null,
  actor             text not null default '',
  job_id            bigint,
  outcome           text not null,
  status            integer not null default 0,
  error_class       text not null default '',
  error             text not null default '',
  wait_seconds      integer not null default 0,
  location          text not null default '',
  dns_us            integer not null default 0,
  connect_us        integer not null default 0,
  tls_us            integer not null default 0,
  first_byte_us     integer not null default 0,
  total_us          integer not null default 0,
  reused            boolean not null default false,
  remote_ip         text not null default '',
  headers           jsonb,
  headers_truncated boolean not null default false,
  excerpt           text not null default '',
  excerpt_truncated boolean not null default false,
  key_ids           text[] not null default '{}',
  late              boolean not null default false,
  primary key (endpoint_id, event_id, number, started_at)
) partition by range (started_at);
create index webhook_attempts_recent on public.webhook_attempts (endpoint_id, started_at);

-- events: none (partition of webhook_attempts for days nobody prepared)
create table public.webhook_attempts_rest partition of public.webhook_attempts default;

-- events: none (how far a recovery has come; what it sends is in the log)
create table public.webhook_recoveries (
  id          uuid primary key default public.uuid_v7(),
  endpoint_id uuid not null references public.webhook_endpoints (id) on delete cascade,
  since       timestamptz not null,
  until       timestamptz not null,
  which       text not null check (which in ('undelivered', 'all', 'failed')),
  actor       text not null default '',
  reached     uuid,
  total       integer not null default 0,
  done        integer not null default 0,
  created_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);
create index webhook_recoveries_endpoint on public.webhook_recoveries (endpoint_id, created_at desc);
