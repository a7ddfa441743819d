import { expect, type Browser, type Page } from '@playwright/test'
import type { Gatehouse } from './server.ts'

// setUp follows the one-time link on a fresh installation and ends signed in on the panel.
export async function setUp(page: Page, server: Gatehouse): Promise<void> {
  await page.goto(`${server.url}/setup?token=${server.setupToken}`)
  await fillCredentials(page, server)
  await expect(page).not.toHaveURL(/\/setup/)
  if (new URL(page.url()).pathname === '/login') await signIn(page, server)
}

// signIn goes through the login form.
export async function signIn(page: Page, server: Gatehouse): Promise<void> {
  await page.goto(`${server.url}/login`)
  await fillCredentials(page, server)
  await expect(page).not.toHaveURL(/\/login/)
}

// asOwner returns the state of a browser that is signed in, setting the installation up when nobody has.
export async function asOwner(browser: Browser, server: Gatehouse): Promise<NonNullable<Gatehouse['session']>> {
  if (server.session) return server.session
  const context = await browser.newContext()
  const page = await context.newPage()
  try {
    await setUp(page, server)
    server.session = await context.storageState()
    return server.session
  } finally {
    await context.close()
  }
}

async function fillCredentials(page: Page, server: Gatehouse): Promise<void> {
  await page.locator('input[type=email]').fill(server.owner.email)
  for (const field of await page.locator('input[type=password]').all()) await field.fill(server.owner.password)
  await page.locator('form:has(input[type=password]) button[type=submit]').first().click()
}
