import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

  test('what is overdue, apart in time or out of reach is said with what to do, and goes with its cause', async ({ ownerPage: page, server }) => {
    const run = (sql: string) => server.database.query(sql)
    const raised = (title: string, evidence: string, next: string) =>
      overview(page, async () => {
        await expect(alert(page, title)).toContainText(evidence, { timeout: 500 })
        await expect(alert(page, title)).toContainText(next, { timeout: 500 })
      })
    const gone = (title: string) => overview(page, () => expect(alert(page, title)).toHaveCount(0, { timeout: 500 }))

    // Nobody works here, so a turn that is due stays due.
    await run(`update periodic_runs set next_run = clock_timestamp() - interval '10 minutes' where name = 'owner.prune'`)
    await raised('A periodic is overdue', 'owner.prune should have run by now.', 'run it by hand')
    // Another machine's process, whose clock is ahead; it has just been heard of.
    await run(`insert into processes (id, role, version, lock_key, skew_ms, beat_at) values ('0197a1d2-0000-7000-8000-000000000001', 'worker', 'elsewhere', 1, 2300, clock_timestamp() + interval '1 hour')`)
    await raised('Clocks differ', "is 2.3 s off the database's clock", "Set both machines' clocks by NTP")
    await run(`alter table search_documents rename to search_documents_elsewhere`)
    await raised('Search cannot be reached', 'Visitors cannot search; writes are not held up.', 'gatehouse doctor')
    // In use for a month, and never backed up.
    await run(`update instance set created_at = clock_timestamp() - interval '31 days'`)
    await raised('There is no recent backup', 'and no backup was made', 'run gatehouse backup')
    await inspect(page, 'overview-alerts')

    await alert(page, 'A periodic is overdue').getByRole('link').click()
    const row = page.locator('tbody tr', { hasText: 'owner.prune' })
    await expect(row.locator('.chip')).toHaveText('overdue')
    await row.getByRole('button', { name: /^Pause/ }).click()
    await expect(page.getByText('Its schedule is paused')).toBeVisible()
    await gone('A periodic is overdue')
    await run(`delete from processes where version = 'elsewhere'`)
    await gone('Clocks differ')
    await run(`alter table search_documents_elsewhere rename to search_documents`)
    await gone('Search cannot be reached')
    await alert(page, 'There is no recent backup').getByRole('link').click()
    await expect(page.getByText('It is time for a new one.')).toBeVisible()
    const shelf = mkdtempSync(join(tmpdir(), 'gatehouse-backup-'))
    try {
      expect((await server.run('backup', join(shelf, 'first'))).output).toContain('Backed up to')
    } finally {
      rmSync(shelf, { recursive: true, force: true })
    }
    await page.reload()
    await expect(page.getByText('The last one was made')).toBeVisible()
    await gone('There is no recent backup')
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
