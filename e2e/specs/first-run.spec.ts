import { expect, inspect, setUp, signIn, test } from '../harness/test.ts'

test.describe.serial('a fresh installation', () => {
  test('says that it lives, and that it is ready', async ({ request, server }) => {
    for (const path of ['/healthz', '/readyz']) {
      expect((await request.get(server.url + path)).status(), path).toBe(200)
    }
  })

  test('sends nobody to the panel without a session', async ({ page }) => {
    await page.goto('/admin/')
    await expect(page).toHaveURL(/\/login/)
    await inspect(page, 'login-before-setup')
  })

  test('refuses a set-up link it did not print, and keeps its own good', async ({ page }) => {
    const response = await page.goto('/setup?token=guessed')
    expect(response?.status()).toBeGreaterThanOrEqual(400)
    await expect(page.locator('input[type=password]')).toHaveCount(0)
    await inspect(page, 'setup-refused')
  })

  test('is set up through the one-time link', async ({ page, server }) => {
    await page.goto(`/setup?token=${server.setupToken}`)
    await inspect(page, 'setup')
    await setUp(page, server)
    await expect(page).toHaveURL(/\/admin/)
    await inspect(page, 'panel-first')
  })

  test('does not take the link a second time', async ({ page, server }) => {
    await page.goto(`/setup?token=${server.setupToken}`)
    await expect(page.locator('input[type=password]')).toHaveCount(0)
  })

  test('signs the owner in, and says what is wrong with a wrong password', async ({ page, server }) => {
    await page.goto('/login')
    await page.locator('input[type=email]').fill(server.owner.email)
    await page.locator('input[type=password]').fill('not the password')
    await page.locator('form:has(input[type=password]) button[type=submit]').click()
    await expect(page).toHaveURL(/\/login/)
    await expect(page.locator('input[type=email]')).toHaveValue(server.owner.email)
    await inspect(page, 'login-refused')
    await signIn(page, server)
    await expect(page).toHaveURL(/\/admin/)
  })
})

test('a page that is not there tells nothing', async ({ page }) => {
  const response = await page.goto('/wiki/nothing-of-this-name')
  expect(response?.status()).toBe(404)
  await inspect(page, 'not-found')
})
