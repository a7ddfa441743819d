import { join } from 'node:path'
import { artifacts, mockStackBinary } from './paths.ts'
import { freePort, Program } from './process.ts'

// MockStack is the outside world, controllable: webhook sink, SMTP, Meilisearch, CalDAV.
export class MockStack {
  readonly url: string
  #program: Program

  private constructor(url: string, program: Program) {
    this.url = url
    this.#program = program
  }

  static async start(name: string): Promise<MockStack> {
    const address = `127.0.0.1:${await freePort()}`
    const program = new Program(mockStackBinary, ['-addr', address], {}, join(artifacts, 'logs', `${name}-mock-stack.log`))
    await program.answers(`http://${address}/__mock/healthz`)
    return new MockStack(`http://${address}`, program)
  }

  // control calls one of the /__mock/ routes.
  async control<Answer = unknown>(route: string, body?: unknown): Promise<Answer> {
    const answer = await fetch(`${this.url}/__mock/${route}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`mock-stack: ${route}: ${answer.status} ${await answer.text()}`)
    const text = await answer.text()
    return (text ? JSON.parse(text) : undefined) as Answer
  }

  async dispose(): Promise<void> {
    await this.#program.end('SIGTERM', 5_000)
  }
}
