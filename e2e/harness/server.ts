import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext } from '@playwright/test'
import { Database } from './database.ts'
import { artifacts, serverBinary } from './paths.ts'
import { freePort, Program } from './process.ts'

export type Environment = Record<string, string>

// Gatehouse is one installation: an empty database, a data folder, and the built binary serving on a loopback port.
export class Gatehouse {
  readonly setupToken = 'setup-token-of-the-browser-tests'
  readonly owner = { email: 'owner@example.com', password: 'correct horse battery staple' }
  readonly database: Database
  readonly url: string
  readonly dataDir: string
  // The owner's session once someone has signed in; see signIn.
  session: SessionState | undefined
  #environment: Environment
  #log: string
  #main: Program
  #others: Program[] = []

  private constructor(database: Database, dataDir: string, port: number, environment: Environment, name: string) {
    this.database = database
    this.dataDir = dataDir
    this.url = `http://127.0.0.1:${port}`
    this.#log = join(artifacts, 'logs', `${name}.log`)
    this.#environment = {
      DATABASE_URL: database.url,
      GATEHOUSE_ADDR: `127.0.0.1:${port}`,
      GATEHOUSE_BASE_URL: this.url,
      GATEHOUSE_DATA_DIR: dataDir,
      GATEHOUSE_SETUP_TOKEN: this.setupToken,
      // The fakes listen on the loopback, where no receiver may be unless allowed.
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
      ...environment,
    }
    this.#main = this.#spawn({})
  }

  // start returns when the server is ready. The name is that of its log.
  static async start(name: string, environment: Environment = {}): Promise<Gatehouse> {
    return Gatehouse.#ready(name, await Database.create(), mkdtempSync(join(tmpdir(), 'gatehouse-e2e-')), environment)
  }

  // restored is an installation with an empty database and data folder of its own, into which a backup was restored before
  // the server started.
  static async restored(name: string, backup: string, environment: Environment = {}): Promise<Gatehouse> {
    const database = await Database.create()
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-e2e-'))
    const settings = { DATABASE_URL: database.url, GATEHOUSE_DATA_DIR: dataDir, ...environment }
    const restore = new Program(serverBinary, ['restore', backup], settings, join(artifacts, 'logs', `${name}.log`))
    if ((await restore.exit()) !== 0) throw new Error(`the backup was not restored:\n${restore.output}`)
    return Gatehouse.#ready(name, database, dataDir, environment)
  }

  static async #ready(name: string, database: Database, dataDir: string, environment: Environment): Promise<Gatehouse> {
    const server = new Gatehouse(database, dataDir, await freePort(), environment, name)
    try {
      await server.#main.answers(`${server.url}/readyz`)
    } catch (error) {
      await server.dispose()
      throw error
    }
    return server
  }

  get pid(): number {
    return this.#main.pid
  }

  // output returns the last lines the server has written.
  get output(): string {
    return this.#main.output
  }

  // stop asks the server to end, as a service manager does, and returns its exit code.
  stop(): Promise<number | null> {
    return this.#main.end('SIGTERM')
  }

  // kill ends the server as a power cut does.
  async kill(): Promise<void> {
    await this.#main.end('SIGKILL')
  }

  pause(): void {
    this.#main.signal('SIGSTOP')
  }

  resume(): void {
    this.#main.signal('SIGCONT')
  }

  // again starts the server anew on the same address, database and data.
  async again(environment: Environment = {}): Promise<void> {
    if (this.#main.running) await this.stop()
    this.#main = this.#spawn(environment)
    await this.#main.answers(`${this.url}/readyz`)
  }

  // another starts one more process on the same database, on a port of its own.
  async another(environment: Environment = {}): Promise<Program & { url: string }> {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const program = this.#spawn({ GATEHOUSE_ADDR: `127.0.0.1:${port}`, ...environment })
    this.#others.push(program)
    await program.answers(`${url}/readyz`)
    return Object.assign(program, { url })
  }

  // run runs a subcommand (import, doctor, …) on this installation and returns its exit code and last output.
  async run(...args: string[]): Promise<{ code: number | null; output: string }> {
    const program = new Program(serverBinary, args, this.#environment, this.#log)
    const code = await program.exit()
    return { code, output: program.output }
  }

  async dispose(): Promise<void> {
    this.resume()
    await Promise.all([this.#main, ...this.#others].map((program) => program.end('SIGTERM')))
    await this.database.drop()
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  #spawn(environment: Environment): Program {
    return new Program(serverBinary, ['serve'], { ...this.#environment, ...environment }, this.#log)
  }
}

// SessionState is what Playwright keeps of a signed-in browser.
export type SessionState = Awaited<ReturnType<BrowserContext['storageState']>>
