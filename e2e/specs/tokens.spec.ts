import { expect, inspect, test, watched, type Page } from '../harness/test.ts'

const row = (page: Page, name: string) => page.locator('tbody tr', { has: page.getByRole('rowheader', { name, exact: true }) })
const secretOf = (page: Page) => page.getByRole('group', { name: 'token', exact: true })

// Past the browser's own checks, as a program or an old browser would.
async function issueUnchecked(page: Page): Promise<void> {
  await page.locator('form:has(#f-name)').evaluate((form: HTMLFormElement) => { form.noValidate = true })
  await page.getByRole('button', { name: 'Issue token' }).click()
}

test.describe.serial('tokens', () => {
  test.describe.configure({ timeout: 180_000 })

  let secret = ''
  const call = (url: string) => fetch(`${url}/api/admin/tasks.health`, { method: 'POST', headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' }, body: '{}' })

  test('an empty page says what tokens are for', async ({ ownerPage: page }) => {
    await page.goto('/admin/settings')
    await page.getByRole('link', { name: 'Tokens' }).click()
    await expect(page.getByText('No tokens yet')).toBeVisible()
    await inspect(page, 'tokens-empty')
  })

  test('each mistake stands at its field, and what was typed stays', async ({ ownerPage: page }) => {
    watched(page).allow(/422/)
    await page.goto('/admin/settings/tokens')
    await page.getByLabel('Name', { exact: true }).fill('')
    await page.getByRole('checkbox', { name: /^Read/ }).uncheck()
    await page.getByLabel('Expires after days').fill('4000')
    await issueUnchecked(page)
    await expect(page.locator('#f-name-error')).toContainText('Say who or what will use it.')
    await expect(page.locator('#f-classes-error')).toContainText('Choose at least one.')
    await expect(page.locator('#f-days-error')).toContainText('3650')
    await expect(page.getByLabel('Expires after days')).toHaveValue('4000')
    await expect(page.getByRole('checkbox', { name: /^Read/ })).not.toBeChecked()
    await expect(page.getByText('No tokens yet')).toBeVisible()
    await inspect(page, 'tokens-refused')
    for (const days of ['-1', '1.5', 'soon', '99999999999999999999']) {
      await page.getByLabel('Expires after days').evaluate((field: HTMLInputElement, value) => { field.type = 'text'; field.value = value }, days)
      await issueUnchecked(page)
      await expect(page.locator('#f-days-error')).toBeVisible()
    }
  })

  test('a token is shown once, works at once, and says when it was used', async ({ ownerPage: page, server }) => {
    await page.goto('/admin/settings/tokens')
    await page.getByLabel('Name', { exact: true }).fill('The assistant on my laptop <svg onload=alert(7)>')
    await page.getByRole('checkbox', { name: /^Send/ }).check()
    await page.getByRole('button', { name: 'Issue token' }).click()
    await expect(page.getByText('Copy it now.')).toBeVisible()
    secret = ((await secretOf(page).textContent()) ?? '').trim()
    expect(secret).toMatch(/^gatehouse_[\w-]{20,}$/)
    await expect(row(page, 'The assistant on my laptop <svg onload=alert(7)>')).toContainText('not yet')
    await expect(row(page, 'The assistant on my laptop <svg onload=alert(7)>')).toContainText('Read, Send')
    await page.getByText('For Claude Code', { exact: true }).click()
    await expect(page.getByRole('group', { name: 'command for Claude Code' })).toContainText(`gatehouse ${server.url}/mcp`)
    await inspect(page, 'tokens-issued')

    expect((await call(server.url)).status).toBe(200)
    await page.goto('/admin/settings/tokens')
    await expect(page.locator('body')).not.toContainText(secret)
    await expect(row(page, 'The assistant on my laptop <svg onload=alert(7)>')).not.toContainText('not yet')
    await inspect(page, 'tokens-filled')
  })

  test('without scripts: issue for ever, revoke after a question, refused on the next call', async ({ browser, server, ownerPage: _signedIn }) => {
    const context = await browser.newContext({ baseURL: server.url, storageState: server.session!, javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto('/admin/settings/tokens')
    await page.getByLabel('Name', { exact: true }).fill('Backup script')
    await page.getByLabel('Expires after days').fill('0')
    await page.getByRole('button', { name: 'Issue token' }).click()
    secret = ((await secretOf(page).textContent()) ?? '').trim()
    await expect(row(page, 'Backup script')).toContainText('never')
    expect((await call(server.url)).status).toBe(200)

    await page.getByRole('link', { name: 'Revoke Backup script' }).click()
    await expect(page.getByText('refused from its next call on')).toBeVisible()
    const question = page.url()
    await page.getByRole('link', { name: 'Cancel' }).click()
    expect((await call(server.url)).status).toBe(200)
    await page.goto(question)
    await page.getByRole('button', { name: 'Revoke the token' }).click()
    await expect(page.getByText('The token is revoked.')).toBeVisible()
    await expect(row(page, 'Backup script')).toContainText('revoked')
    const refused = await call(server.url)
    expect(refused.status).toBe(401)
    expect((await refused.json()).detail).toContain('revoked')
    await page.goto(question)
    await expect(page.getByText('was revoked already')).toBeVisible()
    await context.close()
  })

  test('an expired token says so, and can still be revoked', async ({ ownerPage: page, server }) => {
    await server.database.query(`update tokens set expires_at = clock_timestamp() - interval '1 hour' where name like 'The assistant%'`)
    await page.goto('/admin/settings/tokens')
    await expect(page.locator('tbody tr', { hasText: 'The assistant' })).toContainText('expired')
    await page.getByRole('link', { name: /^Revoke The assistant/ }).click()
    await expect(page.getByText('refused from its next call on')).toBeVisible()
  })
})
