import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inspect, signIn, test, type Page } from '../harness/test.ts'
import type { MockStack } from '../harness/mockstack.ts'
import { Gatehouse } from '../harness/server.ts'

type Request = { headers: Record<string, string[]>; status: number }

// The ids that a receiver has got, each as often as it came.
async function got(mockStack: MockStack): Promise<string[]> {
  const requests = await mockStack.control<Request[]>('GET', 'sink/far/received')
  return requests.map((request) => request.headers['Webhook-Id']![0]!).sort()
}

// The ids of what waits for the receiver, and how many of these have looked at the hold and gone to sleep over it.
const waits = (server: Gatehouse) =>
  server.database.query<{ id: string }>(`select event_id::text as id from webhook_deliveries where state = 'waiting' order by 1`)
const asleep = async (server: Gatehouse) =>
  (await server.database.query(`select from river.river_job where kind = 'webhook.deliver' and finalized_at is null and scheduled_at > clock_timestamp() + interval '30 minutes'`)).length

// Opens the page of the hold as its owner would: from the alert on the overview.
async function toTheHold(page: Page, server: Gatehouse): Promise<void> {
  await signIn(page, server)
  await page.goto(`${server.url}/admin/`)
  const alert = page.locator('.note', { hasText: 'sends are on hold' })
  await expect(alert).toContainText('restored from the backup of')
  await alert.getByRole('link', { name: 'Go there' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('This installation')
}

test.describe.serial('a restored site', () => {
  test.describe.configure({ timeout: 180_000 })

  const shelf = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'))
  const backup = join(shelf, 'backup')
  let brought: string[] = []
  test.afterAll(() => rmSync(shelf, { recursive: true, force: true }))

  const publish = (server: Gatehouse, page: Page, title: string) =>
    page.request.post(`${server.url}/api/admin/corpus.create`, { data: { genre: 'wiki', title, published: true } })

  test('is backed up while it runs and has something to send', async ({ ownerPage: page, server, operation, mockStack }) => {
    await operation('webhooks.create', { url: mockStack.hook('far'), event_types: ['corpus.note.changed'] })
    await operation('tokens.issue', { name: 'Revoked later', classes: ['read'] })
    await publish(server, page, 'Heard')
    await expect.poll(async () => (await got(mockStack)).length, { timeout: 30_000 }).toBe(1)
    // The receiver goes away: what happens now is tried again later.
    await mockStack.control('PUT', 'sink/far/plan', { steps: [{ status: 500 }] })
    await publish(server, page, 'Owed')
    await expect.poll(async () => (await got(mockStack)).length, { timeout: 30_000 }).toBe(2)
    await expect.poll(async () => (await waits(server)).length).toBe(1)
    brought = (await waits(server)).map((delivery) => delivery.id)

    const made = await server.run('backup', backup)
    expect(made.output).toContain('Backed up to')
    expect(made.code).toBe(0)
    await page.goto('/admin/instance')
    await expect(page.getByText('The last one was made')).toBeVisible()
    await inspect(page, 'instance-backed-up')
    expect((await server.run('backup', backup)).output).toContain('overwrites nothing')
    await page.goto('about:blank') // its live stream ends with the server
    await server.stop()
    await mockStack.control('PUT', 'sink/far/plan', { steps: [{ status: 200 }] })
  })

  test('sends nothing until its owner says so, and then all of it, under the same ids', async ({ page, mockStack }) => {
    const before = await got(mockStack)
    const site = await Gatehouse.restored('restore-send', backup)
    try {
      await toTheHold(page, site)
      await expect(page.getByText('1 delivery', { exact: true })).toBeVisible()
      await expect(page.getByRole('row', { name: /Revoked later/ })).toBeVisible()
      await inspect(page, 'instance-held')
      await publish(site, page, 'Meanwhile')
      await expect.poll(() => asleep(site), { timeout: 30_000 }).toBe(1)
      await expect.poll(async () => (await waits(site)).length, { timeout: 30_000 }).toBe(2)
      const all = (await waits(site)).map((delivery) => delivery.id)
      expect(await got(mockStack)).toEqual(before)
      expect((await site.run('doctor')).output).toContain('nothing is sent')

      await page.goto(`${site.url}/admin/instance`)
      await page.getByRole('button', { name: 'Send what waits' }).click()
      await expect(page.getByText('What waited is sent now')).toBeVisible()
      await expect.poll(() => got(mockStack), { timeout: 60_000 }).toEqual([...before, ...all].sort())
      await expect(page.getByRole('row', { name: /restored from the backup/ })).toContainText('sent')
      await page.goto(`${site.url}/admin/`)
      await expect(page.getByText('sends are on hold')).toHaveCount(0)
    } finally {
      await page.goto('about:blank') // its live stream ends with the server
      await site.dispose()
    }
  })

  test('drops what came with the backup when its owner says so, and sends what happened since', async ({ page, mockStack }) => {
    const before = await got(mockStack)
    const site = await Gatehouse.restored('restore-drop', backup)
    try {
      await toTheHold(page, site)
      await publish(site, page, 'Since')
      await expect.poll(() => asleep(site), { timeout: 30_000 }).toBe(1)
      await expect.poll(async () => (await waits(site)).length, { timeout: 30_000 }).toBe(2)
      const since = (await waits(site)).map((delivery) => delivery.id).filter((id) => !brought.includes(id))
      expect(since).toHaveLength(1)

      await page.goto(`${site.url}/admin/instance`)
      await page.getByRole('link', { name: 'Drop what came with the copy' }).click()
      await expect(page.getByRole('button', { name: 'Drop 1 delivery' })).toBeVisible()
      await inspect(page, 'instance-drop')
      await page.getByRole('button', { name: 'Drop 1 delivery' }).click()
      await expect(page.getByText('1 delivery that came with the copy was dropped')).toBeVisible()
      await expect.poll(() => got(mockStack), { timeout: 60_000 }).toEqual([...before, ...since].sort())
      const dropped = await site.database.query<{ id: string }>(`select event_id::text as id from webhook_deliveries where state = 'dropped'`)
      expect(dropped.map((delivery) => delivery.id)).toEqual(brought)
    } finally {
      await page.goto('about:blank') // its live stream ends with the server
      await site.dispose()
    }
  })
})
