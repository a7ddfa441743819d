import { join } from 'node:path'
import { artifacts, mockStackBinary } from './paths.ts'
import { Program } from './process.ts'

// Addresses is what the program prints at its start.
type Addresses = { control: string; sink: string; sink_lean: string; meili: string }

// MockStack is the outside world, controllable.
export class MockStack {
  readonly addresses: Addresses
  #program: Program

  private constructor(addresses: Addresses, program: Program) {
    this.addresses = addresses
    this.#program = program
  }

  static async start(name: string): Promise<MockStack> {
    const program = new Program(mockStackBinary, [], {}, join(artifacts, 'logs', `${name}-mock-stack.log`))
    return new MockStack(JSON.parse(await program.firstLine()) as Addresses, program)
  }

  // hook returns the address of a receiver of this name.
  hook(name: string): string {
    return this.addresses.sink + name
  }

  // control calls one of the /__mock/ routes, as in control('PUT', 'sink/shop/plan', {…}).
  async control<Answer = any>(method: 'GET' | 'POST' | 'PUT' | 'DELETE', route: string, body?: unknown): Promise<Answer> {
    const answer = await fetch(`${this.addresses.control}/__mock/${route}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`mock-stack: ${method} ${route}: ${answer.status} ${text}`)
    return (text ? JSON.parse(text) : undefined) as Answer
  }

  async dispose(): Promise<void> {
    await this.#program.end('SIGTERM', 5_000)
  }
}
