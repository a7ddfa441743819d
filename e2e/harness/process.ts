import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'

// Program is one started process whose output is kept in a log and which is over before its owner is.
export class Program {
  readonly log: string
  #child: ChildProcess
  #exited: Promise<number | null>
  #output = ''

  constructor(binary: string, args: string[], env: Record<string, string>, log: string) {
    this.log = log
    mkdirSync(dirname(log), { recursive: true })
    const file = createWriteStream(log, { flags: 'a' })
    this.#child = spawn(binary, args, {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', LANG: 'C.UTF-8', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        file.write(chunk)
        this.#output = (this.#output + chunk.toString()).slice(-8_000)
      })
    }
    this.#exited = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('exit', (code) => {
        file.end()
        resolve(code)
      })
    })
    // A failure to start is reported by whoever waits; nobody need be waiting yet.
    this.#exited.catch(() => {})
  }

  get pid(): number {
    return this.#child.pid!
  }

  // output returns the last lines written, for the message of a failure.
  get output(): string {
    return this.#output
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  // end sends the signal and returns the exit code, null when the signal ended it. After the deadline it is killed.
  async end(signal: NodeJS.Signals, deadline = 30_000): Promise<number | null> {
    if (!this.running) return this.#exited
    this.#child.kill(signal)
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), deadline)
    try {
      return await this.#exited
    } finally {
      clearTimeout(killer)
    }
  }

  exit(): Promise<number | null> {
    return this.#exited
  }

  // firstLine returns the first line the process writes: where it tells its addresses.
  async firstLine(): Promise<string> {
    const lines = createInterface({ input: this.#child.stdout! })
    try {
      const first = await Promise.race([once(lines, 'line'), this.#exited])
      if (!Array.isArray(first)) throw new Error(`the process ended before it said where it listens:\n${this.#output}`)
      return first[0]
    } finally {
      lines.removeAllListeners()
    }
  }

  // answers waits until the address answers with a success, and fails at once when the process ends first.
  async answers(url: string, deadline = 30_000): Promise<void> {
    const until = Date.now() + deadline
    let last = 'no answer yet'
    while (Date.now() < until) {
      if (!this.running) throw new Error(`the process ended before ${url} answered:\n${this.#output}`)
      try {
        const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) })
        await answer.body?.cancel()
        if (answer.ok) return
        last = `status ${answer.status}`
      } catch (error) {
        last = String(error)
      }
      await wait(25)
    }
    throw new Error(`${url} did not answer in ${deadline} ms (${last}):\n${this.#output}`)
  }
}

// freePort returns a loopback port that nobody listens on.
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
