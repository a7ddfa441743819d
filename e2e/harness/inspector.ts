import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { root } from './paths.ts'

// The package's own launcher.
const inspector = join(root, 'e2e', 'node_modules', '@modelcontextprotocol', 'inspector-cli', 'build', 'cli.js')

// Answered is what the Inspector printed: the result as JSON, or why there is none.
export type Answered = { code: number; result: any; said: string }

// Inspector is the MCP Inspector's command line, as the manual shows it: each call is a client of its own.
export class Inspector {
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = `${url}/mcp`
    this.#token = token
  }

  run(method: string, ...args: string[]): Promise<Answered> {
    const all = [inspector, '--cli', this.#url, '--transport', 'http', '--header', `Authorization: Bearer ${this.#token}`, '--method', method, ...args]
    return new Promise((resolve) => {
      // It looks for its own version one folder above the present one.
      execFile(process.execPath, all, { cwd: dirname(inspector), timeout: 60_000, maxBuffer: 16 << 20 }, (error, stdout, stderr) => {
        const said = stdout + stderr
        resolve({ code: error ? 1 : 0, result: error ? undefined : JSON.parse(stdout), said })
      })
    })
  }

  // call calls a tool; arguments that are no text are written as JSON.
  async call(tool: string, args: Record<string, unknown> = {}): Promise<Answered> {
    const pairs = Object.entries(args).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    return this.run('tools/call', '--tool-name', tool, ...(pairs.length > 0 ? ['--tool-arg', ...pairs] : []))
  }
}
