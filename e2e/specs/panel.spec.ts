import { expect, inspect, test, watched, type Page } from '../harness/test.ts'

// inside: still in the same control, in one of the parts that a date has and the browser marks itself.
type Stop = { what: string; seen: boolean; marked: boolean; inside: boolean }

// What has the focus: whether it can be seen, and whether it is marked.
const focused = (page: Page) =>
  page.evaluate((): Stop | null => {
    const at = document.activeElement as HTMLElement | null
    if (!at || at === document.body) return null
    const style = getComputedStyle(at)
    const was = window as unknown as { stoppedAt?: Element }
    const inside = was.stoppedAt === at
    was.stoppedAt = at
    const box = at.getBoundingClientRect()
    return {
      what: `${at.tagName.toLowerCase()}${at.id ? '#' + at.id : ''} ${(at.getAttribute('aria-label') ?? at.textContent ?? '').trim().slice(0, 40)}`,
      seen: box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight && style.visibility !== 'hidden',
      inside,
      marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
    }
  })

// Everything that the Tab key should reach, without what is folded away.
const reachable = (page: Page) =>
  page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')
    const groups = new Set<string>()
    return [...all].filter((element) => {
      if (element.matches(':disabled, [tabindex="-1"]') || !element.checkVisibility({ visibilityProperty: true })) return false
      // Of the choices of one name the Tab key visits one.
      const radio = element as HTMLInputElement
      if (radio.type !== 'radio') return true
      const first = !groups.has(radio.name)
      groups.add(radio.name)
      return first
    }).length
  })

// Walks once through the page with the Tab key, from its beginning.
async function walk(page: Page): Promise<Stop[]> {
  await page.evaluate(() => {
    ;(document.activeElement as HTMLElement | null)?.blur()
    getSelection()?.setPosition(document.body, 0)
  })
  const stops: Stop[] = []
  for (let i = 0; i < 400; i++) {
    await page.keyboard.press('Tab')
    const stop = await focused(page)
    if (!stop) return stops
    if (!stop.inside) stops.push(stop)
  }
  throw new Error(`the focus does not come round: it is caught at ${stops.at(-1)?.what}`)
}

test.describe.serial('the panel by keyboard', () => {
  test.describe.configure({ timeout: 300_000 })

  test('the Tab key reaches everything on every page, in sight and marked', async ({ ownerPage: page, operation, mockStack }) => {
    const note = await operation('corpus.create', { genre: 'wiki', title: 'Hazel', body: 'A nut.', published: true })
    const { endpoint } = await operation('webhooks.create', { url: mockStack.hook('nuts'), event_types: ['corpus.**'] })
    const { tasks } = await operation('tasks.list', {})
    const { events } = await operation('events.list', { type: 'corpus.**' })
    for (const path of [
      '/admin/', '/admin/tasks', `/admin/tasks/${tasks[0].id}`, '/admin/tasks?state=discarded', '/admin/periodic', '/admin/events', `/admin/events/${events[0].id}`,
      '/admin/webhooks', '/admin/webhooks/new', `/admin/webhooks/${endpoint.id}`, `/admin/webhooks/${endpoint.id}/edit`, `/admin/webhooks/${endpoint.id}/delete`,
      '/admin/notes', '/admin/notes/new', `/admin/notes/${note.note_id}`, '/admin/notes/trash', '/admin/notes/import', '/admin/settings', '/admin/settings/tokens',
    ]) {
      const answer = await page.goto(path)
      expect(answer?.status(), path).toBe(200)
      // An update may come between counting and walking; then the walk is done again.
      await expect(async () => {
        const want = await reachable(page)
        const stops = await walk(page)
        expect(stops.filter((stop) => !stop.seen || !stop.marked), `${path}: out of sight or not marked`).toEqual([])
        expect(stops.length, `${path}: ${stops.map((stop) => stop.what).join(' | ')}`).toBe(want)
        expect(want, path).toBeGreaterThan(10)
      }).toPass({ timeout: 60_000 })
    }
  })

  test('the first stop skips to the page, and single keys lead to the sections', async ({ ownerPage: page }) => {
    await page.goto('/admin/tasks')
    await page.keyboard.press('Tab')
    await expect(page.locator(':focus')).toHaveText('Skip to the page')
    await page.keyboard.press('Enter')
    await expect(page.locator('#main')).toBeFocused()
    await page.keyboard.press('/')
    await expect(page.getByRole('searchbox')).toBeFocused()
    await page.keyboard.type('g')
    await expect(page).toHaveURL(/\/admin\/tasks/)
    await page.getByRole('searchbox').fill('')
    await page.locator('#main').focus()
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Periodic')
    await page.keyboard.press('?')
    await expect(page.getByRole('dialog')).toBeVisible()
    await inspect(page, 'shortcuts')
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toBeHidden()
  })

  test('a row is chosen and acted on without a mouse', async ({ ownerPage: page, operation, server }) => {
    await server.database.query(`alter table search_documents rename to search_documents_elsewhere`)
    const { index_job_id: id } = await operation('corpus.create', { genre: 'wiki', title: 'Alder', body: 'Wet feet.', published: true })
    await expect(async () => {
      const later = `update river.river_job set scheduled_at = now() + interval '1 hour' where id = $1 and state = 'retryable' returning id`
      expect(await server.database.query(later, [id])).toHaveLength(1)
    }).toPass({ timeout: 20_000, intervals: [100] })
    await server.database.query(`alter table search_documents_elsewhere rename to search_documents`)
    await page.goto('/admin/tasks?state=retryable')
    await page.getByRole('checkbox', { name: `Select task ${id}` }).focus()
    await page.keyboard.press('Space')
    await expect(page.getByText('1 selected')).toBeVisible()
    await page.getByRole('button', { name: 'Cancel', exact: true }).focus()
    await page.keyboard.press('Enter')
    await expect(page.getByText('The task is cancelled')).toBeVisible()
    await expect(page).toHaveURL(/state=retryable/)
  })

  test('what goes wrong is a page like the others', async ({ ownerPage: page }) => {
    watched(page).allow(/status of (404|422)/)
    await page.goto('/admin/nothing-here')
    await inspect(page, 'panel-not-found')
    await page.goto('/admin/tasks?q=id:twelve')
    await expect(page.getByText('takes the number of a task')).toBeVisible()
    await inspect(page, 'tasks-search-refused')
    await page.goto('/admin/tasks?q=nothing+like+this')
    await inspect(page, 'tasks-no-match')
    await page.goto('/admin/tasks/987654')
    await inspect(page, 'task-not-found')
  })
})
