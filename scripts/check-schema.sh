#!/usr/bin/env bash
# Two roads, one schema: all migrations in order lead to exactly what schema.sql creates in an empty database.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

# On a PostgreSQL of its own.
if [ -z "${GATEHOUSE_TEST_DATABASE_URL:-}" ]; then
  exec go run ./scripts/testcluster -- "$0"
fi

migrations=(internal/infra/pg/migrations/[0-9][0-9][0-9][0-9]_*.sql)
if [ ! -e "${migrations[0]}" ]; then
  echo "schema: found no migration in internal/infra/pg/migrations"
  exit 1
fi

work=$(mktemp -d)
database() { sed -E "s#^(postgres(ql)?://[^/]*/)[^?]*#\1$1#" <<<"$GATEHOUSE_TEST_DATABASE_URL"; }
on() { psql -X -q -v ON_ERROR_STOP=1 -d "$(database "$1")" "${@:2}"; }
drop() {
  psql -X -q -d "$GATEHOUSE_TEST_DATABASE_URL" -c "drop database if exists $new" -c "drop database if exists $old" >/dev/null 2>&1 || true
  rm -rf "$work"
}
new="schema_new_$$" old="schema_old_$$"
trap drop EXIT
psql -X -q -v ON_ERROR_STOP=1 -d "$GATEHOUSE_TEST_DATABASE_URL" -c "create database $new" -c "create database $old"

on "$new" -f schema.sql >/dev/null
for migration in "${migrations[@]}"; do
  on "$old" --single-transaction -f "$migration" >/dev/null
done
for name in "$new" "$old"; do
  # \restrict carries a random word in recent minor releases.
  pg_dump --schema-only --no-owner -d "$(database "$name")" | grep -vE '^\\(un)?restrict ' >"$work/$name.sql"
done
tables=$(grep -c '^CREATE TABLE' "$work/$new.sql" || true)
if [ "$tables" -lt 5 ]; then
  echo "schema: schema.sql creates only $tables tables"
  exit 1
fi
if ! diff -u --label 'the migrations' --label schema.sql "$work/$old.sql" "$work/$new.sql"; then
  echo "schema: the migrations in internal/infra/pg/migrations do not lead to schema.sql"
  exit 1
fi
