import { Webhook } from 'standardwebhooks'
import { expect } from '@playwright/test'
import type { MockStack } from './mockstack.ts'
import type { Gatehouse } from './server.ts'

export type Operation = <Answer = any>(name: string, input?: unknown) => Promise<Answer>
// Request is what came to a receiver.
export type Request = { headers: Record<string, string[]>; body: string; status: number; received_at: string }
// Told is the body of a delivery.
export type Told = { type: string; timestamp: string; id: string; seq: number; subject: string; data: Record<string, unknown> }
// Delivery is a line of the log, Attempt one request of it, Task what sends it.
export type Delivery = { event_id: string; event_type: string; subject: string; state: string; attempts: number; last_status: number; last_error: string; trigger: string; job_id: number }
export type Attempt = { number: number; outcome: string; status: number; wait_seconds: number; error_class: string; error: string; location: string; total_ms: number; trigger: string; started_at: string }
export type Task = { id: number; state: string; attempt: number; total_attempts: number; snoozes: number; scheduled_at: string }
// Step is one way for the receiver to answer; see mock-stack/sink/plan.go.
export type Step = Record<string, unknown>

export const header = (request: Request, name: string) => request.headers[name]?.[0] ?? ''
export const text = (request: Request) => Buffer.from(request.body, 'base64').toString('utf8')
const at = (request: Request) => new Date(request.received_at).getTime()

// pause is the time between two requests, in milliseconds.
export const pause = (first: Request, second: Request) => at(second) - at(first)

// verified has the official library decide whether a request is genuine, on the bytes as they came.
export function verified(secret: string, request: Request): Told {
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, values]) => [name.toLowerCase(), values[0] ?? '']))
  return new Webhook(secret).verify(text(request), headers) as Told
}

// forged says that the official library refuses the request under this secret.
export function forged(secret: string, request: Request): boolean {
  try {
    verified(secret, request)
    return false
  } catch {
    return true
  }
}

// Receiver is a hook of the fakes with the endpoint that sends to it.
export class Receiver {
  readonly id: string
  readonly secret: string
  readonly public: string
  readonly name: string
  #mockStack: MockStack
  #operation: Operation
  #server: Gatehouse

  private constructor(name: string, made: { endpoint: { id: string }; secret?: string; public?: string }, world: World) {
    this.name = name
    this.id = made.endpoint.id
    this.secret = made.secret ?? ''
    this.public = made.public ?? ''
    this.#mockStack = world.mockStack
    this.#operation = world.operation
    this.#server = world.server
  }

  // create makes an endpoint that hears of the types, by default of notes.
  static async create(world: World, name: string, more: Record<string, unknown> = {}): Promise<Receiver> {
    const made = await world.operation('webhooks.create', { url: world.mockStack.hook(name), description: name, event_types: ['corpus.note.changed'], ...more })
    return new Receiver(name, made, world)
  }

  get page(): string {
    return `/admin/webhooks/${this.id}`
  }

  // plan says how the next requests are answered.
  async plan(...steps: Step[]): Promise<void> {
    await this.#mockStack.control('PUT', `sink/${this.name}/plan`, { steps })
  }

  // requests are all that came, oldest first.
  requests(): Promise<Request[]> {
    return this.#mockStack.control<Request[]>('GET', `sink/${this.name}/received`)
  }

  // heard waits for so many requests about a subject, each genuine, and returns them.
  async heard(subject: string, times: number): Promise<Request[]> {
    let about: Request[] = []
    await expect(async () => {
      about = (await this.requests()).filter((request) => verified(this.secret, request).subject === subject)
      expect(about).toHaveLength(times)
    }).toPass({ timeout: 60_000 })
    return about
  }

  // delivery waits until the delivery about a subject is in that state.
  async delivery(subject: string, state: string): Promise<Delivery> {
    let found: Delivery | undefined
    await expect(async () => {
      found = (await this.deliveries()).find((delivery) => delivery.subject === subject)
      expect(found?.state, `delivery about ${subject} to ${this.name}`).toBe(state)
    }).toPass({ timeout: 60_000 })
    return found!
  }

  async deliveries(): Promise<Delivery[]> {
    return (await this.#operation('webhooks.deliveries', { endpoint_id: this.id })).deliveries
  }

  // attempt reads one attempt of a delivery, once it is written.
  async attempt(delivery: Delivery, number: number): Promise<Attempt> {
    let found: Attempt | undefined
    await expect(async () => {
      found = await this.#operation<Attempt>('webhooks.attempt', { endpoint_id: this.id, event_id: delivery.event_id, number })
    }).toPass({ timeout: 60_000 })
    return found!
  }

  // task is the task of a delivery.
  async task(delivery: Delivery): Promise<Task> {
    const { tasks } = await this.#operation('tasks.list', { kind: 'webhook.deliver', args: { endpoint_id: this.id, event_id: delivery.event_id } })
    return tasks[0]
  }

  // hurry makes this endpoint's waiting retries due now. The schedule is in hours; what is moved is the time at which the
  // queue runs them, not a clock: webhook-timestamp stays true.
  async hurry(delivery?: Delivery): Promise<void> {
    await this.#server.database.query(
      `update river.river_job set scheduled_at = now(), state = 'available'
       where kind = 'webhook.deliver' and state in ('retryable', 'scheduled', 'available') and args @> $1`,
      [JSON.stringify({ endpoint_id: this.id, ...(delivery && { event_id: delivery.event_id }) })],
    )
  }

  endpoint(): Promise<Record<string, any>> {
    return this.#operation('webhooks.get', { id: this.id })
  }

  // close deletes the endpoint, so that what later tests do does not reach it.
  async close(): Promise<void> {
    if (!(await this.endpoint()).deleted) await this.#operation('webhooks.delete', { id: this.id })
  }
}

// World is what a receiver is made of; a test's fixtures have all of it.
export type World = { mockStack: MockStack; operation: Operation; server: Gatehouse }

// subjectOf is the subject of events about the note at an address of the site: wiki://pump for /wiki/pump.
export const subjectOf = (address: string) => decodeURI(address).replace(/^\/(\w+)\//, '$1://')

// publish creates a public note of the wiki and returns its id and the subject of its events.
export async function publish(operation: Operation, title: string, more: Record<string, unknown> = {}): Promise<{ id: string; subject: string }> {
  const made = await operation('corpus.create', { genre: 'wiki', title, body: `${title} grows here, privately worded.`, published: true, ...more })
  return { id: made.note_id, subject: subjectOf(made.address) }
}

// awkward is text that programs on the way like to spoil.
export const awkward = 'Grüße an a < b & "c" \'d\' $E `f` %s \\ \u2028\u2029 図書館 🪴 </script>'

// happen makes an event that holds awkward text, and returns its id. No event of ours has free text, so it is put in.
export async function happen(server: Gatehouse): Promise<string> {
  const [event] = await server.database.query<{ id: string }>(
    `insert into events (owner_id, type, subject, data) select id, 'vault.imported', $1, $2::jsonb from owners returning id::text`,
    [`import://${awkward}`, JSON.stringify({ imported: 1, note: awkward, deep: [1.5, null, { [awkward]: false }] })],
  )
  return event!.id
}
