import { expect, inspect, test } from '../harness/test.ts'

test.describe.serial('settings', () => {
  test.describe.configure({ timeout: 180_000 })

  test('the site gets a name, and visitors see it', async ({ ownerPage: page }) => {
    await page.goto('/admin/settings')
    await page.getByLabel('Name of the site').fill('The Walled Garden')
    await page.getByLabel('Time zone').fill('Mars/Olympus')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await expect(page.getByLabel('Name of the site')).toHaveValue('The Walled Garden')
    await expect(page.locator('#f-zone-error')).toContainText('such as Europe/Berlin')
    await inspect(page, 'settings-refused')
    await page.getByLabel('Time zone').fill('Asia/Tokyo')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await expect(page.getByText('The settings are saved.')).toBeVisible()
    await expect(async () => {
      await page.goto('/')
      await expect(page.getByText('The Walled Garden').first()).toBeVisible({ timeout: 500 })
    }).toPass({ timeout: 15_000 })
    await page.goto('/admin/settings')
    await expect(page.locator('time').first()).toHaveAttribute('title', /JST/)
  })

  test('a browser is signed out from another', async ({ ownerPage: page, browser, server }) => {
    const elsewhere = await browser.newContext({ baseURL: server.url, userAgent: 'Elsewhere 1.0' })
    const other = await elsewhere.newPage()
    await other.goto('/login')
    await other.locator('input[type=email]').fill(server.owner.email)
    await other.locator('input[type=password]').fill(server.owner.password)
    await other.locator('form:has(input[type=password]) button[type=submit]').click()
    await expect(other).toHaveURL(/\/admin/)
    await page.goto('/admin/settings')
    await page.locator('tr', { hasText: 'Elsewhere 1.0' }).getByRole('button', { name: /^Sign out/ }).click()
    await expect(page.getByText('That browser is signed out.')).toBeVisible()
    await other.goto('/admin/')
    await expect(other).toHaveURL(/\/login/)
    await elsewhere.close()
  })
})
