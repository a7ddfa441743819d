-- events: none (what was shown and not yet confirmed; each works once and for ten minutes)
create table public.plans (
  id         text primary key,
  caller     text not null,
  operation  text not null,
  asked      text not null,
  frozen     text not null,
  expires_at timestamptz not null
);
create index plans_caller on public.plans (caller, expires_at);
