import { expect, inspect, test, watched, type Page } from '../harness/test.ts'
import type { Gatehouse } from '../harness/server.ts'

type Receipt = { note_id: string; indexed: boolean; index_job_id: number }
type Operation = <Answer = any>(name: string, input?: unknown) => Promise<Answer>

// The fault is a real one: the table that search keeps its documents in is not where it should be.
async function breakSearch(server: Gatehouse): Promise<void> {
  await server.database.query('alter table search_documents rename to search_documents_elsewhere')
}

async function mendSearch(server: Gatehouse): Promise<void> {
  await server.database.query('alter table if exists search_documents_elsewhere rename to search_documents')
}

async function write(operation: Operation, title: string): Promise<Receipt> {
  return operation<Receipt>('corpus.create', { genre: 'wiki', title, body: `${title} grows here.`, published: true })
}

// The number of a failing note's index task, open on its page. Its next try is put off by an hour: the first ones follow
// each other within seconds, and a test must not race with them.
async function failing(page: Page, operation: Operation, server: Gatehouse, title: string): Promise<number> {
  const { index_job_id: id } = await write(operation, title)
  expect(id, 'a receipt names the task').toBeGreaterThan(0)
  await expect(async () => {
    const later = `update river.river_job set scheduled_at = now() + interval '1 hour' where id = $1 and state = 'retryable' returning id`
    expect(await server.database.query(later, [id])).toHaveLength(1)
  }).toPass({ timeout: 20_000, intervals: [100] })
  await until(page, `/admin/tasks/${id}`, 'retryable')
  return id
}

// Looks again until the page shows the state, as a person without live updates would.
async function until(page: Page, path: string, state: string): Promise<void> {
  await expect(async () => {
    await page.goto(path)
    await expect(page.locator('.chip').first()).toHaveText(state, { timeout: 500 })
  }).toPass({ timeout: 20_000 })
}

// A click only begins its navigation: whoever goes elsewhere at once may stop the form on its way. So its answer is awaited.
const told = (page: Page, words: string | RegExp) => expect(page.getByText(words).first()).toBeVisible()
const again = /will be tried again now/

const row = (page: Page, id: number) => page.locator('tbody tr', { has: page.getByRole('link', { name: String(id), exact: true }) })

test.describe.serial('tasks', () => {
  // Looking at a page in four shapes takes its time.
  test.describe.configure({ timeout: 180_000 })

  test.afterEach(async ({ server }) => mendSearch(server))

  test('an empty list says what would be here', async ({ ownerPage }) => {
    await ownerPage.goto('/admin/tasks?state=discarded')
    await expect(ownerPage.getByText('Nothing has failed')).toBeVisible()
    await inspect(ownerPage, 'tasks-empty')
  })

  test('a failing task is shown with its error, retried by a click, and completes', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    const id = await failing(page, operation, server, 'Rhubarb')
    await page.goto('/admin/tasks?state=retryable&kind=corpus.index')
    await expect(row(page, id)).toContainText('search_documents')
    await expect(row(page, id)).toContainText('wiki://rhubarb')
    await inspect(page, 'tasks-failing')

    await row(page, id).getByRole('link', { name: String(id), exact: true }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Task ${id}`)
    await expect(page.getByText('does not exist').first()).toBeVisible()
    await expect(page.getByText('Next try')).toBeVisible()
    await inspect(page, 'task-failing')

    await page.locator('a[href^="/admin/events/"]').first().click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('corpus.note.changed')
    await expect(page.locator('tbody')).toContainText('corpus.index')
    await expect(page.locator('tbody')).toContainText('retryable')
    await inspect(page, 'event-failing')
    await page.getByRole('link', { name: String(id), exact: true }).click()

    await mendSearch(server)
    await page.getByRole('button', { name: 'Retry now' }).click()
    await expect(page.getByText('The task will be tried again now.')).toBeVisible()
    await until(page, `/admin/tasks/${id}`, 'completed')
    await expect(page.locator('.line-time > li').first()).toContainText('completed')
    await inspect(page, 'task-completed')
    await page.goto('/search?q=rhubarb')
    await expect(page.getByRole('link', { name: 'Rhubarb' })).toBeVisible()
  })

  test('a cancelled task has no effect, and the queue runs on', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    const id = await failing(page, operation, server, 'Nettle')
    await page.goto('/admin/tasks?state=retryable&kind=corpus.index')
    await row(page, id).getByRole('button', { name: `Cancel task ${id}` }).click()
    await expect(page).toHaveURL(/state=retryable&kind=corpus\.index|kind=corpus\.index&state=retryable/)
    await expect(page.getByText('The task is cancelled')).toBeVisible()
    await mendSearch(server)
    const sentinel = await write(operation, 'Sentinel')
    await until(page, `/admin/tasks/${sentinel.index_job_id}`, 'completed')
    await until(page, `/admin/tasks/${id}`, 'cancelled')
    await page.goto('/search?q=nettle')
    await expect(page.getByRole('link', { name: 'Nettle' })).toHaveCount(0)
  })

  test('the overview says how many failed and since when; one of a group is retried, then the rest', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    const ids = [await failing(page, operation, server, 'Ash'), await failing(page, operation, server, 'Birch'), await failing(page, operation, server, 'Cedar')]
    const lost = await failing(page, operation, server, 'Dogwood')
    // Its arguments name no event any more: no try can help.
    await server.database.query(`update river.river_job set args = '{"event_id": "lost", "subject": "wiki://dogwood"}' where id = $1`, [lost])
    await page.goto(`/admin/tasks/${lost}`)
    await page.getByRole('button', { name: 'Retry now' }).click()
    await told(page, again)
    await until(page, `/admin/tasks/${lost}`, 'discarded')

    await expect(async () => {
      await page.goto('/admin/')
      await expect(page.locator('.figure', { hasText: 'Retryable' }).locator('.value')).toHaveText('3', { timeout: 500 })
      await expect(page.locator('.figure', { hasText: 'Discarded' }).locator('.value')).toHaveText('1', { timeout: 500 })
    }).toPass({ timeout: 15_000 })
    await expect(page.locator('.figure', { hasText: 'Retryable' })).toContainText(/oldest \d+ (s|min) ago/)
    await expect(page.getByText('Tasks have failed for good')).toBeVisible()
    await inspect(page, 'overview-failing')

    await page.goto('/admin/tasks?state=retryable')
    await expect(page.getByRole('heading', { name: 'By kind and error' })).toBeVisible()
    await mendSearch(server)
    await row(page, ids[0]!).getByRole('button', { name: `Retry task ${ids[0]}` }).click()
    await told(page, again)
    await until(page, `/admin/tasks/${ids[0]}`, 'completed')
    await page.goto('/admin/tasks?state=retryable')
    for (const box of await page.locator('input[name=pick]').all()) await box.check()
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await told(page, again)
    for (const id of ids) await until(page, `/admin/tasks/${id}`, 'completed')
    await until(page, `/admin/tasks/${lost}`, 'discarded')
  })

  test('two tabs act on one task: one of them is told that it has changed', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    const id = await failing(page, operation, server, 'Elder')
    const other = await page.context().newPage()
    await other.goto(`/admin/tasks/${id}`)
    await page.goto(`/admin/tasks/${id}`)
    // Both see the same attempt; live updates would tell the second of the first's doing, so it is cut off from them.
    await other.route('**/admin/live*', (route) => route.abort())
    await other.route(`**/admin/tasks/${id}`, (route) => (route.request().isNavigationRequest() ? route.continue() : route.abort()))
    watched(page).allow(/status of 409/)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect(page.getByText('The task is cancelled')).toBeVisible()
    await other.getByRole('button', { name: 'Retry now' }).click()
    await expect(other.getByText(`Task ${id} has changed since you looked`)).toBeVisible()
    await expect(other.locator('.chip').first()).toHaveText('cancelled')
    await other.close()
  })

  test('whoever switches rows quickly acts on the one in sight, and rows are acted on by their number, not their place', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    const [one, two] = [await failing(page, operation, server, 'Juniper'), await failing(page, operation, server, 'Kale')]
    await mendSearch(server)
    await page.goto('/admin/tasks?state=retryable')
    // The first page does not come before the second click. Both are plain presses of the mouse: a locator waits for a page
    // that is on its way.
    const at = async (id: number) => {
      const box = await row(page, id).getByRole('link', { name: String(id), exact: true }).boundingBox()
      return [box!.x + box!.width / 2, box!.y + box!.height / 2] as const
    }
    await row(page, one).scrollIntoViewIfNeeded()
    const [first, second] = [await at(one), await at(two)]
    const asked = page.waitForRequest(`**/admin/tasks/${one}`)
    await page.route(`**/admin/tasks/${one}`, () => {})
    await page.mouse.click(...first)
    await asked
    await page.mouse.click(...second)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Task ${two}`)
    await page.unroute(`**/admin/tasks/${one}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect(page.getByText('The task is cancelled')).toBeVisible()
    await until(page, `/admin/tasks/${one}`, 'retryable')

    // A new task takes the first place while the owner looks; the button still means its own task.
    const listening = page.waitForResponse(/\/admin\/live/)
    await page.goto('/admin/tasks')
    await listening
    const sentinel = await write(operation, 'Lovage')
    await expect(page.getByRole('link', { name: /\d+ new/ })).toBeVisible()
    await row(page, one).getByRole('button', { name: `Retry task ${one}` }).click()
    await told(page, again)
    await until(page, `/admin/tasks/${one}`, 'completed')
    await until(page, `/admin/tasks/${two}`, 'cancelled')
    await until(page, `/admin/tasks/${sentinel.index_job_id}`, 'completed')
  })

  test('a row that is looked at tells its new state in its place', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    const id = await failing(page, operation, server, 'Medlar')
    await mendSearch(server)
    const listening = page.waitForResponse(/\/admin\/live/)
    await page.goto('/admin/tasks?state=retryable')
    await listening
    await expect(row(page, id).locator('.chip')).toHaveText('retryable')
    await operation('tasks.retry', { id, expected_state: 'retryable' })
    await expect(row(page, id).locator('.chip')).toHaveText('completed')
  })

  test('attempts from before a crash stay on the page, and the work goes on after it', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    const id = await failing(page, operation, server, 'Nutmeg')
    const before = await page.locator('.line-time > li').count()
    expect(before).toBeGreaterThan(0)
    await page.goto('about:blank')
    await server.kill()
    await server.again()
    await page.goto(`/admin/tasks/${id}`)
    await expect(page.locator('.line-time > li')).toHaveCount(before)
    await expect(page.locator('.line-time > li').first()).toContainText('search_documents')
    await mendSearch(server)
    await page.getByRole('button', { name: 'Retry now' }).click()
    await told(page, again)
    await until(page, `/admin/tasks/${id}`, 'completed')
    await expect(page.locator('.line-time > li')).toHaveCount(before + 1)
  })

  test('selected tasks are retried without JavaScript', async ({ ownerPage: page, operation, server, browser }) => {
    await breakSearch(server)
    const id = await failing(page, operation, server, 'Fennel')
    await page.goto(`/admin/tasks/${id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await mendSearch(server)
    const still = await browser.newContext({ javaScriptEnabled: false, baseURL: server.url, storageState: await page.context().storageState() })
    const plain = await still.newPage()
    await plain.goto('/admin/tasks?state=cancelled')
    await plain.getByRole('checkbox', { name: `Select task ${id}` }).check()
    await plain.getByRole('button', { name: 'Retry', exact: true }).click()
    await expect(plain.getByText('The task will be tried again now.')).toBeVisible()
    await expect(plain).toHaveURL(/state=cancelled/)
    await still.close()
    await until(page, `/admin/tasks/${id}`, 'completed')
  })

  test('all that match are retried by a task of its own', async ({ ownerPage: page, operation, server }) => {
    await breakSearch(server)
    for (const title of ['Garlic', 'Hyssop']) {
      const id = await failing(page, operation, server, title)
      await page.getByRole('button', { name: 'Cancel' }).click()
      await told(page, 'The task is cancelled')
      await until(page, `/admin/tasks/${id}`, 'cancelled')
    }
    await mendSearch(server)
    await page.goto('/admin/tasks?state=cancelled&q=search_documents')
    await page.getByRole('link', { name: 'Retry all that match…' }).click()
    await expect(page.getByText('Tasks that come later are left alone')).toBeVisible()
    await inspect(page, 'tasks-matching')
    await page.getByRole('button', { name: /^Retry \d+ tasks/ }).click()
    await expect(page.getByText('This task works through all that matched')).toBeVisible()
    await until(page, new URL(page.url()).pathname, 'completed')
    for (const word of ['Garlic', 'Hyssop']) {
      await expect(async () => {
        await page.goto(`/search?q=${word}`)
        await expect(page.getByRole('link', { name: word })).toBeVisible({ timeout: 500 })
      }).toPass({ timeout: 15_000 })
    }
  })

  test('an open list says that there are new tasks, and does not jump', async ({ ownerPage: page, operation }) => {
    await write(operation, 'Jasmine')
    const listening = page.waitForResponse(/\/admin\/live/)
    await page.goto('/admin/tasks?kind=corpus.index')
    // Which task a row is about; its state and age go on.
    const about = () => page.locator('tbody tr a').allInnerTexts()
    const before = await about()
    await listening
    await write(operation, 'Iris')
    await expect(page.getByRole('link', { name: /\d+ new/ })).toBeVisible({ timeout: 10_000 })
    expect(await about()).toEqual(before)
    await inspect(page, 'tasks-new-rows')
    await page.getByRole('link', { name: /\d+ new/ }).click()
    await expect(page.locator('tbody tr').first()).toContainText('wiki://iris')
  })
})
