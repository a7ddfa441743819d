import { expect, inspect, test, watched, type Page } from '../harness/test.ts'

type Receipt = { note_id: string; indexed: boolean; index_job_id: number }
type Operation = <Answer = any>(name: string, input?: unknown) => Promise<Answer>

let written = 0
async function write(operation: Operation): Promise<Receipt> {
  return operation<Receipt>('corpus.create', { genre: 'wiki', title: `Leaf ${++written}`, body: 'Green.', published: true })
}

const list = '/admin/tasks?kind=corpus.index'
const fresh = (page: Page) => page.getByRole('link', { name: /\d+ new/ })

// Opens the list and waits until this browser hears of changes.
async function listen(page: Page): Promise<void> {
  await page.goto(list)
  await page.waitForFunction(() => (window as unknown as { htmx?: unknown }).htmx !== undefined)
}

test.describe.serial('live updates', () => {
  test.describe.configure({ timeout: 180_000 })

  test('seven windows share one stream, stay responsive and all hear of a change, also when the one that listens is closed', async ({ ownerPage, operation }) => {
    await write(operation)
    const context = ownerPage.context()
    // Who took over last is the one that listens.
    let leader = ownerPage
    let open = 0
    context.on('request', (request) => {
      if (!request.url().includes('/admin/live')) return
      open++
      leader = request.frame().page()
    })
    for (const over of ['requestfinished', 'requestfailed'] as const) {
      context.on(over as 'requestfinished', (request) => {
        if (request.url().includes('/admin/live')) open--
      })
    }
    const windows = [ownerPage]
    while (windows.length < 7) windows.push(await context.newPage())
    const begun = context.waitForEvent('response', (response) => response.url().includes('/admin/live'))
    for (const page of windows) await listen(page)
    await begun
    // HTTP/1.1 gives a browser six connections to a host: seven streams would leave none for pages.
    await expect.poll(() => open).toBe(1)

    await write(operation)
    for (const page of windows) await expect(fresh(page)).toBeVisible()
    for (const page of windows) {
      await page.goto('/admin/periodic')
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Periodic')
    }

    for (const page of windows) await listen(page)
    await expect.poll(() => open).toBe(1)
    const gone = leader
    const next = context.waitForEvent('response', (response) => response.url().includes('/admin/live'))
    if (gone === ownerPage) await gone.goto('about:blank')
    else await gone.close()
    await next
    await write(operation)
    for (const page of windows) if (page !== gone) await expect(fresh(page)).toBeVisible()
    for (const page of windows) if (page !== ownerPage) await page.close()
  })

  test('what happened while the line was cut is caught up with', async ({ ownerPage: page, operation, server }) => {
    watched(page).allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/)
    const first = page.waitForResponse(/\/admin\/live/)
    await listen(page)
    await first
    // Long enough for the greeting, which names where the stream begins, to have come.
    await write(operation)
    await expect(fresh(page)).toBeVisible()
    const before = await fresh(page).innerText()
    await server.kill()
    await server.again()
    await write(operation)
    await expect(fresh(page)).not.toHaveText(before, { timeout: 30_000 })
  })

  test('rows do not move while some are selected, and the page says that it waits', async ({ ownerPage: page, operation }) => {
    await write(operation)
    await listen(page)
    const rows = page.locator('tbody tr')
    await rows.nth(1).getByRole('checkbox').check()
    await expect(page.getByText('1 selected. Live updates wait until nothing is selected.')).toBeVisible()
    const before = await rows.allInnerTexts()
    const place = await rows.nth(1).boundingBox()
    await write(operation)
    await expect(fresh(page)).toBeVisible()
    expect(await rows.nth(1).boundingBox(), 'the row is where the hand expects it').toEqual(place)
    expect((await rows.allInnerTexts()).map((text) => text.split('\n')[0])).toEqual(before.map((text) => text.split('\n')[0]))
    await expect(rows.nth(1).getByRole('checkbox')).toBeChecked()
    await inspect(page, 'tasks-selected')
  })

  test('a fold that was opened stays open over updates', async ({ ownerPage: page, operation }) => {
    await page.goto('/admin/periodic')
    await page.locator('tbody tr', { hasText: 'tasks.throughput' }).getByRole('button', { name: /^Run now/ }).click()
    await expect(async () => {
      await page.goto('/admin/')
      await expect(page.getByText('Throughput, each ten minutes')).toBeVisible({ timeout: 500 })
    }).toPass({ timeout: 20_000 })
    const fold = page.locator('details', { hasText: 'Show the numbers' }).first()
    await fold.locator('summary').click()
    await expect(fold.getByRole('table')).toBeVisible()
    await write(operation)
    await expect(page.locator('tbody', { hasText: `wiki://leaf-${written}` })).toBeVisible()
    await expect(fold.getByRole('table')).toBeVisible()
    await inspect(page, 'overview-charts')
  })

  test('streams end when the server stops, and do not hold it up', async ({ ownerPage: page, server }) => {
    watched(page).allow(/ERR_|Failed to load/)
    const begun = page.waitForResponse(/\/admin\/live/)
    await page.goto(list)
    await begun
    expect(await server.stop()).toBe(0)
    expect(server.output).toContain('stopping')
    await page.goto('about:blank')
    await server.again()
  })
})
