import { gzipSync } from 'node:zlib'
import { expect, type ConsoleMessage, type Page, type Response } from '@playwright/test'
import { violations } from './accessible.ts'

// Budgets in bytes after gzip, per page: the document, and all of its scripts and style sheets.
const budgets: Record<string, number> = { document: 60_000, script: 20_000, stylesheet: 10_000 }

const watches = new WeakMap<Page, Watch>()

// watched returns the watch on a page that the fixtures made.
export function watched(page: Page): Watch {
  const watch = watches.get(page)
  if (!watch) throw new Error('nobody watches this page: take it from the fixtures page or ownerPage')
  return watch
}

// Watch holds a page to what is asked of every page a test visits: no console error, no script error, no violation of
// the Content-Security-Policy, no accessibility violation, and a size within budget. verdict() ends every test.
export class Watch {
  readonly #page: Page
  #problems: string[] = []
  #allowed: RegExp[] = []
  #failedDocuments = new Set<string>()
  #pending: Promise<void>[] = []
  #weights = new Map<string, number>()
  #examined = new Set<string>()

  private constructor(page: Page) {
    this.#page = page
  }

  static async on(page: Page): Promise<Watch> {
    const watch = new Watch(page)
    watches.set(page, watch)
    await page.exposeBinding('__violation', (_source, what: string) => watch.#problems.push(`CSP: ${what}`))
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (e) => {
        const report = (window as unknown as { __violation(what: string): void }).__violation
        report(`${e.effectiveDirective} blocked ${e.blockedURI} on ${e.documentURI} (${e.sourceFile}:${e.lineNumber})`)
      })
    })
    page.on('console', (message) => watch.#heard(message))
    page.on('pageerror', (error) => watch.#problems.push(`script error on ${page.url()}: ${error.message}`))
    page.on('response', (response) => watch.#pending.push(watch.#weigh(response)))
    watch.#examineVisits()
    return watch
  }

  // allow excuses problems a test causes on purpose, such as a connection lost while it restarts the server.
  allow(problem: RegExp): void {
    this.#allowed.push(problem)
  }

  // examine runs the accessibility rules on the page as it stands.
  async examine(where = this.#page.url()): Promise<void> {
    for (const violation of await violations(this.#page)) this.#problems.push(`axe on ${where}: ${violation}`)
  }

  // verdict fails on the first page that broke a rule, after a last look at the page as the test left it.
  async verdict(): Promise<void> {
    if (!this.#page.isClosed() && this.#page.url().startsWith('http')) await this.examine()
    await Promise.all(this.#pending)
    const left = this.#problems.filter((problem) => !this.#allowed.some((allowed) => allowed.test(problem)))
    expect([...new Set(left)], 'what every visited page must be free of').toEqual([])
  }

  // Each address is examined once when a test goes there; what follows by clicks is examined at the test's end, or by
  // inspect().
  #examineVisits(): void {
    const goto = this.#page.goto.bind(this.#page)
    this.#page.goto = async (url, options) => {
      const response = await goto(url, options)
      const type = (await response?.headerValue('content-type')) ?? ''
      const path = new URL(this.#page.url()).pathname
      if (type.startsWith('text/html') && !this.#examined.has(path)) {
        this.#examined.add(path)
        await this.examine()
      }
      return response
    }
  }

  #heard(message: ConsoleMessage): void {
    if (message.type() !== 'error') return
    // Chromium logs a document's own 404 as an error; that a test goes there is no fault of the page.
    if (message.text().startsWith('Failed to load resource') && this.#failedDocuments.has(message.location().url)) return
    this.#problems.push(`console error on ${this.#page.url()}: ${message.text()} (${message.location().url})`)
  }

  async #weigh(response: Response): Promise<void> {
    const request = response.request()
    const kind = request.resourceType()
    // What follows belongs to the new page.
    if (kind === 'document') this.#weights.clear()
    if (kind === 'document' && response.status() >= 400) this.#failedDocuments.add(response.url())
    const budget = budgets[kind]
    if (budget === undefined || response.status() >= 300 && response.status() < 400) return
    let body: Buffer
    try {
      body = await response.body()
    } catch {
      // The browser has gone on to another page and let go of this one.
      return
    }
    const weight = gzipSync(body).length
    const sum = kind === 'document' ? weight : (this.#weights.get(kind) ?? 0) + weight
    this.#weights.set(kind, sum)
    if (sum > budget) this.#problems.push(`${kind} of ${this.#page.url()}: ${sum} bytes gzipped, at most ${budget}`)
  }
}
