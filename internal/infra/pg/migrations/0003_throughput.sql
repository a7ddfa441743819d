-- Figures of the last seven days for the overview's charts.
-- events: none (figures of the last seven days, a row for each ten minutes; a periodic counts them anew and deletes old ones)
-- counted_at: when the row was last counted; one counted before its ten minutes were over is counted again. No row: nobody
-- looked then. waiting_*: the most that waited at any look; null when nobody looked in time.
create table public.throughput (
  at             timestamptz primary key,
  counted_at     timestamptz not null,
  events         integer not null,
  relayed        integer not null,
  completed      integer not null,
  discarded      integer not null,
  cancelled      integer not null,
  delivered      integer not null,
  failed         integer not null,
  waiting_events integer,
  waiting_tasks  integer
);
