-- Ids drawn within one millisecond keep their order too, so that a list by id is a list by time.
create or replace function public.uuid_v7() returns uuid
language sql volatile parallel safe
-- RFC 9562: 48 bits of unix milliseconds, version 7, 12 bits of the millisecond's fraction (method 3), variant 2, the
-- rest random. PostgreSQL has it from 18 on.
return (overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
  || substr(gen_random_uuid()::text, 20))::uuid;
