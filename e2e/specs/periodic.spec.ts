import { expect, test, type Page } from '../harness/test.ts'

const row = (page: Page, name: string) => page.locator('tbody tr', { hasText: name })

test.describe.serial('periodic', () => {
  test.describe.configure({ timeout: 180_000 })

  test('lists what comes back by itself, in plain words', async ({ ownerPage: page }) => {
    await page.goto('/admin/periodic')
    await expect(row(page, 'owner.prune')).toContainText('hourly')
    await expect(row(page, 'corpus.purge_trash')).toContainText('daily')
    await expect(row(page, 'events.sweep')).toContainText('every minute')
  })

  test('runs one by hand, once', async ({ ownerPage: page }) => {
    await page.goto('/admin/periodic')
    await expect(row(page, 'owner.prune')).toContainText('never')
    await row(page, 'owner.prune').getByRole('button', { name: /^Run now/ }).click()
    await expect(page.getByText('It was started once')).toBeVisible()
    await expect(async () => {
      await page.reload()
      await expect(row(page, 'owner.prune')).toContainText('done in', { timeout: 500 })
    }).toPass({ timeout: 20_000 })
    await expect(row(page, 'owner.prune').locator('.strip li')).toHaveCount(1)
  })

  test('pauses a schedule and lets it go on', async ({ ownerPage: page }) => {
    await page.goto('/admin/periodic')
    await row(page, 'corpus.purge_trash').getByRole('button', { name: /^Pause/ }).click()
    await expect(page.getByText('Its schedule is paused')).toBeVisible()
    await expect(row(page, 'corpus.purge_trash').locator('.chip')).toHaveText('paused')
    await row(page, 'corpus.purge_trash').getByRole('button', { name: /^Resume/ }).click()
    await expect(page.getByText('Its schedule goes on')).toBeVisible()
    await expect(row(page, 'corpus.purge_trash').locator('.chip')).not.toHaveText('paused')
  })

  test('keeps history and pauses over a restart', async ({ ownerPage: page, server }) => {
    await page.goto('/admin/periodic')
    await row(page, 'corpus.purge_trash').getByRole('button', { name: /^Pause/ }).click()
    await expect(page.getByText('Its schedule is paused')).toBeVisible()
    await page.goto('about:blank')
    await server.kill()
    await server.again()
    await page.goto('/admin/periodic')
    await expect(row(page, 'owner.prune').locator('.strip li')).toHaveCount(1)
    await expect(row(page, 'owner.prune')).toContainText('done in')
    await expect(row(page, 'corpus.purge_trash').locator('.chip')).toHaveText('paused')
  })
})
