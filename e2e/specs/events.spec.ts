import { expect, inspect, test } from '../harness/test.ts'

test.describe.serial('events', () => {
  test.describe.configure({ timeout: 180_000 })

  test('the stream says what happened, and each event what it set in motion', async ({ ownerPage: page, operation }) => {
    await operation('corpus.create', { genre: 'wiki', title: 'Quince', body: 'Yellow.', published: true })
    await page.goto('/admin/events?type=corpus.**')
    await expect(page.locator('tbody tr')).toHaveCount(1)
    await expect(page.locator('tbody tr')).toContainText('wiki://quince')
    await page.getByRole('link', { name: 'corpus.note.changed' }).click()
    const fanout = page.locator('section', { hasText: 'What it set in motion' }).locator('tbody')
    await expect(fanout).toContainText('corpus.index')
    await expect(async () => {
      await page.reload()
      await expect(fanout).toContainText('completed', { timeout: 500 })
    }).toPass({ timeout: 15_000 })
    await expect(page.getByText('by owner')).toBeVisible()
  })

  test('a filter that cannot be read is kept and explained, one that finds nothing says so', async ({ ownerPage: page }) => {
    await page.goto('/admin/events')
    await page.getByLabel('Type').fill('corpus note')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect(page.getByLabel('Type')).toHaveValue('corpus note')
    await expect(page.getByText('segments of a-z')).toBeVisible()
    await page.goto('/admin/events?type=webhook.*')
    await expect(page.getByText('No event matches')).toBeVisible()
    await page.getByRole('link', { name: 'Clear the filter' }).click()
    await expect(page.locator('tbody tr').first()).toBeVisible()
  })

  test('a poisoned event raises an alert, and is requeued once it is mended', async ({ ownerPage: page, server }) => {
    // A row that a newer program wrote and this one does not know; the fifth fault sets it aside.
    const [event] = await server.database.query<{ id: string }>(
      `insert into events (owner_id, type, subject, attempts) select id, 'plum.ripened', 'tree://7', 4 from owners returning id::text`)
    await expect(async () => {
      await page.goto('/admin/events?state=poisoned')
      await expect(page.locator('tbody')).toContainText('plum.ripened', { timeout: 500 })
    }).toPass({ timeout: 30_000 })
    await inspect(page, 'events-poisoned')
    await page.goto('/admin/')
    await expect(page.getByText('Events could not be handed over')).toBeVisible()
    await page.goto(`/admin/events/${event!.id}`)
    await expect(page.getByText('This event could not be handed over')).toBeVisible()
    await inspect(page, 'event-poisoned')

    await server.database.query(`update events set type = 'owner.login' where id = $1`, [event!.id])
    const list = await page.context().newPage()
    await list.goto('/admin/events?state=poisoned')
    await page.getByRole('button', { name: 'Requeue' }).click()
    await expect(page.getByText('The event will be handed over again')).toBeVisible()
    await expect(async () => {
      await page.goto(`/admin/events/${event!.id}`)
      await expect(page.locator('.chip').first()).toHaveText('delivered', { timeout: 500 })
    }).toPass({ timeout: 20_000 })
    // The row that is looked at tells its new state in its place.
    await expect(list.locator('tbody tr', { hasText: 'tree://7' })).toContainText('delivered')
    await list.close()
    await page.goto('/admin/')
    await expect(page.getByText('Events could not be handed over')).toHaveCount(0)
  })
})
