import { expect, inspect, test, type Page } from '../harness/test.ts'

const alert = (page: Page, title: string) => page.getByRole('region', { name: 'What needs you' }).locator('.note', { hasText: title })

// Looks again until the overview agrees, as a person without live updates would.
async function overview(page: Page, check: () => Promise<void>): Promise<void> {
  await expect(async () => {
    await page.goto('/admin/')
    await check()
  }).toPass({ timeout: 60_000 })
}

// Pages without workers: what waits stays where it is until the test starts a process that works.
test.use({ environment: { of: { GATEHOUSE_ROLE: 'web' } } })

test.describe.serial('overview', () => {
  test.describe.configure({ timeout: 240_000 })

  test('an allow list that opens this machine is named, with what to do', async ({ ownerPage: page }) => {
    await page.goto('/admin/')
    const note = alert(page, 'Webhooks may reach this machine itself')
    await expect(note).toContainText('127.0.0.0/8')
    await note.getByRole('link').click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Webhooks')
  })

  test('a backlog at its bound is no news; above it it stands first, and goes when it is worked off', async ({ ownerPage: page, operation, server }) => {
    const waiting = 'select count(*)::int as n from events where fanned_out_at is null and poisoned_at is null'
    const [already] = await server.database.query<{ n: number }>(waiting)
    const add = (n: number) => server.database.query(`insert into events (owner_id, type, subject) select o.id, 'owner.login', 'owner' from owners o, generate_series(1, $1::int)`, [n])
    await add(1000 - already!.n)
    await page.goto('/admin/')
    await expect(page.getByRole('region', { name: 'What needs you' })).toBeVisible()
    await expect(alert(page, 'Events are waiting to be handed over')).toHaveCount(0)
    await add(1)
    await overview(page, () => expect(alert(page, 'Events are waiting to be handed over')).toContainText('1001 events waiting', { timeout: 500 }))
    await expect(page.getByRole('region', { name: 'What needs you' }).locator('.note').first()).toContainText('Events are waiting')
    await inspect(page, 'overview-backlog')
    await alert(page, 'Events are waiting to be handed over').getByRole('link').click()
    await expect(page).toHaveURL(/\/admin\/events\?state=waiting/)
    await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible()

    const worker = await server.another({ GATEHOUSE_ROLE: 'all' })
    await overview(page, () => expect(alert(page, 'Events are waiting to be handed over')).toHaveCount(0, { timeout: 500 }))

    // What passed is counted, and the charts stand beside their numbers.
    await operation('tasks.run_periodic', { name: 'tasks.throughput' })
    await overview(page, () => expect(page.getByText('Throughput, each ten minutes')).toBeVisible({ timeout: 500 }))
    await page.getByText('Show the numbers').first().click()
    await expect(page.getByRole('table', { name: /each ten minutes/ }).first()).toBeVisible()
    await inspect(page, 'overview-charts-open')

    await worker.end('SIGKILL')
    await overview(page, () => expect(alert(page, 'A process died')).toContainText('did not say goodbye', { timeout: 500 }))
  })

  test('work that no process takes is stuck, until one does', async ({ ownerPage: page, operation, server }) => {
    await server.database.query(`update processes set stopped_at = clock_timestamp() where stopped_at is null and role = 'all'`)
    const worker = await server.another({ GATEHOUSE_ROLE: 'all' })
    await worker.end('SIGTERM')
    await operation('tasks.run_periodic', { name: 'owner.prune' })
    await overview(page, () => expect(alert(page, 'No worker takes from maintenance')).toContainText('GATEHOUSE_ROLE', { timeout: 500 }))
    await server.another({ GATEHOUSE_ROLE: 'all' })
    await overview(page, () => expect(alert(page, 'No worker takes from maintenance')).toHaveCount(0, { timeout: 500 }))
  })
})
