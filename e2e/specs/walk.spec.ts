import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inspect, test, watched, type Page } from '../harness/test.ts'
import { tabThrough } from '../harness/keyboard.ts'
import { root } from '../harness/paths.ts'
import { publish, Receiver } from '../harness/receiver.ts'

// Every address that the site registers for GET; a Go test keeps the list true.
const routes = readFileSync(join(root, 'e2e', 'routes.txt'), 'utf8').trim().split('\n')

// What the site of this walk holds, by the names that the addresses below ask for.
const made: Record<string, string> = {}

// Pages are named as their screenshots are. A page that asks before it acts, or that shows an answer, is one like any other.
type Stop = { name: string; at: () => string; status?: number }
const at = (name: string, path: string | (() => string), status = 200): Stop => ({ name, at: typeof path === 'string' ? () => path : path, status })

// The owner's pages by their route, in the states that this site is in.
const panel: Record<string, Stop[]> = {
  '/admin/': [at('overview', '/admin/'), at('panel-not-found', '/admin/nothing-here', 404)],
  '/admin/tasks': [
    at('tasks', '/admin/tasks'),
    at('tasks-none', '/admin/tasks?state=running'),
    at('tasks-no-match', '/admin/tasks?q=nothing+like+this'),
    at('tasks-search-refused', '/admin/tasks?q=id:twelve', 422),
  ],
  '/admin/tasks/{id}': [at('task', () => `/admin/tasks/${made.task}`), at('task-not-found', '/admin/tasks/987654', 404)],
  '/admin/tasks/matching': [
    at('tasks-matching-some', '/admin/tasks/matching?action=retry&state=discarded'),
    at('tasks-matching-none', '/admin/tasks/matching?action=cancel&state=retryable&q=nothing+like+this'),
  ],
  '/admin/periodic': [at('periodic', '/admin/periodic')],
  '/admin/events': [at('events', '/admin/events'), at('events-no-match', '/admin/events?type=webhook.*&state=poisoned'), at('events-filter-refused', '/admin/events?type=Corpus+note', 422)],
  '/admin/events/{id}': [at('event', () => `/admin/events/${made.event}`)],
  '/admin/webhooks': [at('webhooks', '/admin/webhooks')],
  '/admin/webhooks/new': [at('webhook-new', '/admin/webhooks/new')],
  '/admin/webhooks/{id}': [at('webhook', () => `/admin/webhooks/${made.shop}`), at('webhook-off', () => `/admin/webhooks/${made.gone}`)],
  '/admin/webhooks/{id}/edit': [at('webhook-edit', () => `/admin/webhooks/${made.shop}/edit`)],
  '/admin/webhooks/{id}/enable': [at('webhook-enable', () => `/admin/webhooks/${made.gone}/enable`)],
  '/admin/webhooks/{id}/rotate': [at('webhook-rotate', () => `/admin/webhooks/${made.shop}/rotate`)],
  '/admin/webhooks/{id}/delete': [at('webhook-delete', () => `/admin/webhooks/${made.shop}/delete`)],
  '/admin/webhooks/{id}/failed': [at('webhook-failed', () => `/admin/webhooks/${made.shop}/failed`)],
  '/admin/webhooks/{id}/recover': [
    at('webhook-recover', () => `/admin/webhooks/${made.shop}/recover`),
    at('webhook-recover-counted', () => `/admin/webhooks/${made.shop}/recover?which=all&since=${made.before}`),
    at('webhook-recover-refused', () => `/admin/webhooks/${made.shop}/recover?which=all&since=yesterday`, 422),
  ],
  '/admin/webhooks/{id}/deliveries/{event}': [
    at('webhook-delivery', () => `/admin/webhooks/${made.shop}/deliveries/${made.delivered}`),
    at('webhook-delivery-failed', () => `/admin/webhooks/${made.gone}/deliveries/${made.refused}`),
  ],
  '/admin/notes': [at('notes', '/admin/notes'), at('notes-no-match', '/admin/notes?text=nothing+like+this')],
  '/admin/notes/tree': [at('notes-tree', '/admin/notes/tree')],
  '/admin/notes/new': [at('note-new', '/admin/notes/new')],
  '/admin/notes/{id}': [at('note', () => `/admin/notes/${made.note}`), at('note-not-found', '/admin/notes/none', 404)],
  '/admin/notes/{id}/place': [at('note-move', () => `/admin/notes/${made.note}/place`)],
  '/admin/notes/{id}/delete': [at('note-delete', () => `/admin/notes/${made.note}/delete`)],
  '/admin/notes/trash': [at('notes-trash', '/admin/notes/trash')],
  '/admin/notes/import': [at('import', '/admin/notes/import')],
  '/admin/notes/import/{id}': [at('import-report-short', () => `/admin/notes/import/${made.report}`)],
  '/admin/settings': [at('settings', '/admin/settings')],
  '/admin/settings/tokens': [at('tokens', '/admin/settings/tokens')],
  '/admin/settings/tokens/{id}/revoke': [at('tokens-revoke', () => `/admin/settings/tokens/${made.token}/revoke`)],
  '/admin/instance': [at('instance', '/admin/instance')],
  '/admin/instance/hold': [at('instance-hold', '/admin/instance/hold')],
}

// A hold stops what the other pages show, so its pages come last.
const held: Record<string, Stop[]> = {
  '/admin/instance': [at('instance-hold-set', '/admin/instance')],
  '/admin/instance/drop': [at('instance-drop', '/admin/instance/drop')],
}

// A visitor's pages.
const open: Record<string, Stop[]> = {
  '/': [at('visitor-home', '/')],
  '/wiki/': [at('visitor-wiki', '/wiki/')],
  '/wiki/*': [at('visitor-note', '/wiki/hazel'), at('visitor-not-found', '/wiki/nothing-of-this-name', 404)],
  '/writing/': [at('visitor-writing', '/writing/')],
  '/writing/*': [at('visitor-writing-one', '/writing/first-frost')],
  '/tags/': [at('visitor-tags', '/tags/')],
  '/tags/*': [at('visitor-tag', '/tags/demo')],
  '/search': [at('visitor-search', '/search'), at('visitor-search-found', '/search?q=nut'), at('visitor-search-nothing', '/search?q=kumquat')],
  '/login': [at('login', '/login')],
  '/setup': [at('setup-reset', () => made.link!)],
}

// What is no page of its own, and why.
const noPage: Record<string, string> = {
  '/admin/live': 'the stream that open pages listen to',
  '/admin/tasks/new': 'a piece of the list of tasks',
  '/admin/tasks/shown': 'a piece of the list of tasks',
  '/admin/events/new': 'a piece of the list of events',
  '/admin/events/shown': 'a piece of the list of events',
  '/admin/webhooks/{id}/new': 'a piece of the log of deliveries',
  '/admin/webhooks/{id}/shown': 'a piece of the log of deliveries',
  '/admin/notes/complete': 'a piece of the editor',
  '/wiki': 'leads to /wiki/',
  '/writing': 'leads to /writing/',
  '/tags': 'leads to /tags/',
  '/files/*': 'attachments',
  '/assets/*': 'scripts, styles and icons',
  '/feed.xml': 'for feed readers',
  '/feed.json': 'for feed readers',
  '/sitemap.xml': 'for search engines',
  '/robots.txt': 'for search engines',
  '/healthz': 'for monitors',
  '/healthz/tasks': 'for monitors',
  '/readyz': 'for monitors',
  '/mcp': 'for assistants',
  '/.well-known/oauth-protected-resource': 'for assistants',
  '/.well-known/oauth-protected-resource/mcp': 'for assistants',
  '/api/*': 'for programs',
  '/api/admin/{operation}': 'for programs',
  '/api/openapi.json': 'for programs',
}

test('every address of the site is walked, or is no page', () => {
  const known = new Set([...Object.keys(panel), ...Object.keys(held), ...Object.keys(open), ...Object.keys(noPage)])
  expect([...known].sort()).toEqual([...routes].sort())
})

// Times are shown in the zone that the owner has chosen, and in no other.
async function inTheOwnersZone(page: Page, where: string): Promise<void> {
  const exact = await page.locator('time[title]').evaluateAll((times) => times.map((time) => time.getAttribute('title')!))
  expect(exact.filter((title) => !title.endsWith(' JST')), `${where}: not in the owner's zone`).toEqual([])
  expect((await page.locator('body').innerText()).match(/.*\d UTC\b.*/)?.[0], `${where}: a time in another zone`).toBeUndefined()
}

// What is wrong on one page keeps nobody from looking at the next.
async function walk(page: Page, pages: Stop[], check: (page: Page, where: string) => Promise<void> = async () => {}): Promise<void> {
  const wrong: unknown[] = []
  for (const { name, at, status } of pages) {
    try {
      const answer = await page.goto(at())
      expect(answer?.status(), at()).toBe(status)
      await expect(page.getByRole('heading', { level: 1 }), at()).toBeVisible()
      await tabThrough(page, at())
      await check(page, at())
      await inspect(page, name)
    } catch (error) {
      wrong.push(error)
    }
  }
  if (wrong.length > 0) throw new AggregateError(wrong, wrong.map(String).join('\n'))
}

const sections = [...new Set(Object.keys(panel).map((route) => route.split('/')[2]))]

test.describe.serial('the walk', () => {
  test.describe.configure({ timeout: 300_000 })

  test('begins at a site that holds some of everything', async ({ ownerPage: page, operation, server, mockStack }) => {
    const world = { mockStack, operation, server }
    await page.goto('/admin/settings')
    await page.getByLabel('Time zone').fill('Asia/Tokyo')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await expect(page.getByText('The settings are saved.')).toBeVisible()

    const shop = await Receiver.create(world, 'shop')
    const gone = await Receiver.create(world, 'gone')
    await gone.plan({ status: 410, body: 'No longer here.' })
    made.shop = shop.id
    made.gone = gone.id
    const hazel = await operation('corpus.create', { genre: 'wiki', title: 'Hazel', body: 'A nut. See [[Filbert]] and [[First frost]].\n\n> [!tip] Store it\n> In the shell.\n\n## Uses\n\n`crack`', tags: ['demo'], published: true })
    made.note = hazel.note_id
    made.delivered = (await shop.delivery('wiki://hazel', 'delivered')).event_id
    made.refused = (await gone.delivery('wiki://hazel', 'failed')).event_id
    made.task = String((await gone.task(await gone.delivery('wiki://hazel', 'failed'))).id)
    await publish(operation, 'Filbert')
    await gone.delivery('wiki://filbert', 'parked')
    await operation('corpus.create', { genre: 'writing', title: 'First frost', body: 'It was cold.', tags: ['demo'], published: true })
    await operation('corpus.create', { genre: 'raw', title: 'A thought about mulch', body: 'To be sorted.' })
    const { events } = await operation('events.list', { type: 'corpus.note.changed' })
    made.event = events.at(-1).id
    const weed = await operation('corpus.create', { genre: 'wiki', title: 'Goutweed', body: 'Out.' })
    const question = await operation('corpus.delete', { ids: [weed.note_id] })
    if (question.plan_id) await operation('corpus.delete', { ids: [weed.note_id], plan_id: question.plan_id })
    const files = [
      { path: 'Compost.md', text: '---\npublish: true\n---\nWarm heaps.' },
      { path: 'Broken.md', text: '---\npublish: [true\n---\ntext' },
    ]
    made.report = (await operation('corpus.import', { name: 'Heap notes', files })).import.id
    made.token = (await operation('tokens.issue', { name: 'The assistant on my laptop', classes: ['read', 'egress'] })).token.id
    const [first] = await server.database.query<{ at: string }>(`select to_char(min(occurred_at) at time zone 'Asia/Tokyo', 'YYYY-MM-DD"T"HH24:MI:SS') as at from events`)
    made.before = encodeURIComponent(first!.at)
    made.link = (await server.run('setup-link', '--reset')).output.match(/\/setup\?token=\S+/)![0]
    await expect(async () => expect((await server.database.query(`select from imports where finished_at is null`)).length).toBe(0)).toPass({ timeout: 30_000 })
  })

  for (const section of sections) {
    test(`goes through the owner's pages: ${section || 'overview'}`, async ({ ownerPage: page }) => {
      watched(page).allow(/status of (404|422)/)
      const pages = Object.entries(panel).filter(([route]) => route.split('/')[2] === section)
      await walk(page, pages.flatMap(([, stops]) => stops), inTheOwnersZone)
    })
  }

  test('goes by keyboard where there is little room', async ({ ownerPage: page }) => {
    await page.setViewportSize({ width: 320, height: 640 })
    for (const path of ['/admin/tasks', '/admin/webhooks/new', `/admin/notes/${made.note}`]) {
      await page.goto(path)
      await tabThrough(page, `${path} at 320 px`)
    }
    const menu = page.locator('summary', { hasText: 'Menu' })
    await menu.focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('link', { name: 'Webhooks' })).toBeVisible()
    for (let i = 0; i < 10 && (await menu.locator('xpath=..').locator(':focus').count()) > 0; i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await expect(page.locator('main :focus')).toBeVisible()
    // The menu gives way to what has the focus.
    await expect(page.getByRole('link', { name: 'Webhooks' })).toBeHidden()
    await menu.focus()
    await expect(page.getByRole('link', { name: 'Webhooks' })).toBeVisible()
  })

  test('goes through what visitors see', async ({ page }) => {
    watched(page).allow(/status of (404|410)/)
    await walk(page, Object.values(open).flat())
  })

  test('goes through a hold', async ({ ownerPage: page, operation }) => {
    await operation('instance.hold', {})
    await walk(page, Object.values(held).flat(), inTheOwnersZone)
  })
})
