import { randomBytes } from 'node:crypto'
import pg from 'pg'

// clusterURL names the PostgreSQL the suite may create databases in. scripts/testcluster starts a private one and sets it.
export function clusterURL(): string {
  const url = process.env.GATEHOUSE_TEST_DATABASE_URL
  if (!url) {
    throw new Error('GATEHOUSE_TEST_DATABASE_URL is not set: run `make e2e`, or put `go run ./scripts/testcluster --` before the command')
  }
  return url
}

// Database is an empty database of one server's own, gone when dropped.
export class Database {
  readonly name: string
  readonly url: string
  #pool: pg.Pool | undefined

  private constructor(name: string) {
    this.name = name
    // The address may name a socket instead of a host, which URL does not parse.
    this.url = clusterURL().replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${name}`)
  }

  static async create(): Promise<Database> {
    const database = new Database(`e2e_${randomBytes(6).toString('hex')}`)
    await onCluster(clusterURL(), `create database ${database.name}`)
    return database
  }

  // query reads what no page shows. What a person can see is asserted on the page instead.
  async query<Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await (this.#pool ??= pool(this.url)).query<Row>(sql, values)).rows
  }

  async drop(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    await pool?.end()
    // Force ends every connection, among them an autovacuum worker's, which only a superuser may end.
    await onCluster(process.env.GATEHOUSE_TEST_ADMIN_URL ?? clusterURL(), `drop database if exists ${this.name} with (force)`)
  }
}

// pool survives that the server ends a connection, in use or idle: when its database is dropped that may happen before the
// server has read our goodbye. A query that was cut off still fails.
function pool(url: string): pg.Pool {
  const made = new pg.Pool({ connectionString: url, max: 2 })
  made.on('error', () => {})
  made.on('connect', (client) => client.on('error', () => {}))
  return made
}

async function onCluster(address: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
