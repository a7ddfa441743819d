import { expect, signIn, test, watched, type Page } from '../harness/test.ts'
import type { Route } from '@playwright/test'

type Receipt = { note_id: string; indexed: boolean; index_job_id: number }
type Operation = <Answer = any>(name: string, input?: unknown) => Promise<Answer>

const list = '/admin/tasks?kind=corpus.index'
const line = '**/admin/live*'
const fresh = (page: Page) => page.getByRole('link', { name: /\d+ new/ })

let written = 0
async function write(operation: Operation): Promise<Receipt> {
  return operation<Receipt>('corpus.create', { genre: 'wiki', title: `Twig ${++written}`, body: 'Green.', published: true })
}

// What the browser does to a page that is kept for going back, or whose tab is hidden and seen again.
async function put(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, hidden)
}

// A gate that holds the first request to an address until it is let go.
async function hold(page: Page, address: string, pass: (route: Route) => Promise<void>): Promise<{ held: Promise<Route>; more(): void }> {
  let more = () => {}
  let took = (_: Route) => {}
  const open = new Promise<void>((done) => (more = done))
  const held = new Promise<Route>((done) => (took = done))
  let first = true
  await page.route(address, async (route) => {
    if (!first) return route.continue()
    first = false
    took(route)
    await open
    await pass(route)
  })
  return { held, more }
}

test.describe.serial('the line to the server', () => {
  test.describe.configure({ timeout: 180_000 })

  test('what happens while a page is on its way and its stream has not begun is shown', async ({ ownerPage: page, operation }) => {
    await write(operation)
    const gate = await hold(page, line, (route) => route.continue())
    await page.goto(list)
    await gate.held
    await write(operation)
    gate.more()
    await expect(fresh(page)).toHaveText('1 new')
  })

  test('a window that joins late is told by the window that leads', async ({ ownerPage: page, operation }) => {
    const greeted = page.waitForResponse(line)
    await page.goto(list)
    await greeted
    await write(operation)
    await expect(fresh(page)).toBeVisible()
    // The second page was read before a change that the first window heard of before the second could listen.
    const second = await page.context().newPage()
    const gate = await hold(second, '**/assets/panel.*.js', (route) => route.continue())
    const arrived = second.goto(list)
    await gate.held
    const before = await fresh(page).innerText()
    await write(operation)
    await expect(fresh(page)).not.toHaveText(before)
    gate.more()
    await arrived
    await expect(fresh(second)).toHaveText('1 new')
    await second.close()
  })

  test('a hidden window asks for nothing, and is caught up when it is seen again', async ({ ownerPage: page, operation }) => {
    await page.goto(list)
    const other = await page.context().newPage()
    await other.goto(list)
    await put(page, true)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await write(operation)
    await expect(fresh(other)).toBeVisible()
    expect(asked).toEqual([])
    await expect(fresh(page)).toHaveCount(0)
    await put(page, false)
    await expect(fresh(page)).toBeVisible()
    await other.close()
  })

  test('a page that was kept for going back is caught up', async ({ ownerPage: page, operation }) => {
    const begun = page.waitForResponse(line)
    await page.goto(list)
    await begun
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/admin/live'))
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
    await ended
    await put(page, true)
    await write(operation)
    await page.evaluate(() => Object.defineProperty(document, 'hidden', { value: false, configurable: true }))
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
    await expect(fresh(page)).toBeVisible()
    // And one that was not kept is read anew.
    await page.goto('/admin/periodic')
    await write(operation)
    await page.goBack()
    await expect(page.locator('tbody tr', { hasText: `wiki://twig-${written}` }).or(fresh(page)).first()).toBeVisible()
  })

  test('a line that has died silently, as after a sleep, is noticed and made anew', async ({ ownerPage: page, operation }) => {
    await page.clock.install()
    const gate = await hold(page, line, (route) => route.abort())
    await page.goto(list)
    await gate.held
    await write(operation)
    await page.clock.fastForward('05:00')
    await expect(fresh(page)).toBeVisible()
    gate.more()
  })

  test('a proxy that hands nothing on before the end of an answer delays updates, and does not stop them', async ({ ownerPage: page, operation }) => {
    await page.clock.install()
    const gate = await hold(page, line, (route) => route.abort())
    await page.goto(list)
    await gate.held
    // From here on answers come whole or not at all.
    await page.route(line, async (route) => {
      try {
        await route.fulfill({ response: await route.fetch() })
      } catch {
        await route.abort().catch(() => undefined) // the test has ended
      }
    })
    const brief = page.waitForRequest((request) => request.url().includes('&brief'))
    await page.clock.fastForward(11_000)
    await brief
    await write(operation)
    await expect(fresh(page)).toHaveText('1 new')
    await write(operation)
    await expect(fresh(page)).toHaveText('2 new')
    gate.more()
    await page.goto('about:blank')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  test('a change that comes while a part is being fetched is shown when the fetch has ended', async ({ ownerPage: page, operation }) => {
    await page.goto('/admin/')
    const gate = await hold(page, '**/admin/', async (route) => {
      await route.fulfill({ response: old! })
    })
    let old: Awaited<ReturnType<Route['fetch']>> | undefined
    await write(operation)
    const route = await gate.held
    old = await route.fetch()
    await write(operation)
    const told = page.evaluate(() => new Promise<void>((done) => document.addEventListener('live:told', () => done(), { once: true })))
    await told
    gate.more()
    await expect(page.locator('tbody', { hasText: `wiki://twig-${written}` })).toBeVisible()
  })

  test('a part that could not be fetched is fetched later, and until then the page says that it may be old', async ({ ownerPage: page, operation }) => {
    watched(page).allow(/Failed to load resource|htmx:(afterRequest|sendError)/)
    await page.goto(list)
    let refused = 0
    await page.route('**/admin/tasks/new*', (route) => {
      refused++
      return route.abort()
    })
    await write(operation)
    await expect(page.getByRole('status').getByText('What you see may be old.')).toBeVisible()
    expect(refused).toBeGreaterThan(0)
    await page.unroute('**/admin/tasks/new*')
    await expect(fresh(page)).toBeVisible({ timeout: 40_000 })
    await expect(page.getByText('What you see may be old.')).toHaveCount(0)
  })

  test('signing out in one window ends the stream of the others, which say so', async ({ browser, server, operation, contextOptions }) => {
    const context = await browser.newContext({ ...contextOptions, baseURL: server.url })
    const page = await context.newPage()
    await signIn(page, server)
    const begun = page.waitForResponse(line)
    await page.goto(list)
    await begun
    const other = await context.newPage()
    await other.goto('/admin/settings')
    await other.getByRole('button', { name: 'Sign out' }).first().click()
    await expect(other).toHaveURL(/\/login/)
    await write(operation)
    await expect(page.getByText('You have been signed out. Reload the page to sign in.')).toBeVisible({ timeout: 40_000 })
    await expect(fresh(page)).toHaveCount(0)
    await context.close()
  })
})
