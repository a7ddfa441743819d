import { expect, inspect, test, watched, type Page } from '../harness/test.ts'
import type { MockStack } from '../harness/mockstack.ts'
import { publish, text, verified, type Request } from '../harness/receiver.ts'

// What came to a receiver, oldest first.
const received = (mockStack: MockStack) => mockStack.control<Request[]>('GET', 'sink/garden/received')

// Waits until the receiver has got so many requests about a subject.
async function heard(mockStack: MockStack, secret: string, subject: string, times: number): Promise<Request[]> {
  let about: Request[] = []
  await expect(async () => {
    about = (await received(mockStack)).filter((request) => verified(secret, request).subject === subject)
    expect(about).toHaveLength(times)
  }).toPass({ timeout: 30_000 })
  return about
}

// Looks again until the page shows the text, as a person without live updates would.
async function until(page: Page, path: string, shown: string): Promise<void> {
  await expect(async () => {
    await page.goto(path)
    await expect(page.getByText(shown).first()).toBeVisible({ timeout: 500 })
  }).toPass({ timeout: 30_000 })
}

const row = (page: Page, subject: string) => page.locator('tbody tr', { hasText: subject })

// untilRow loads the page until a row says so. A result is written a moment after the receiver has answered, and a page is no
// snapshot: it may have read its rows before it read how the endpoint is.
async function untilRow(page: Page, path: string, subject: string, shown: string): Promise<void> {
  await expect(async () => {
    await page.goto(path)
    await expect(row(page, subject)).toContainText(shown, { timeout: 500 })
  }).toPass({ timeout: 30_000 })
}

test.describe.serial('webhooks', () => {
  // Looking at a page in four shapes takes its time.
  test.describe.configure({ timeout: 300_000 })

  let secret = ''
  let endpoint = ''
  let first: Request

  test('an empty page says what would be here', async ({ ownerPage: page }) => {
    await page.goto('/admin/webhooks')
    await expect(page.getByText('Nobody listens yet')).toBeVisible()
    await inspect(page, 'webhooks-empty')
  })

  test('each mistake stands at its field, and what was typed stays', async ({ ownerPage: page }) => {
    watched(page).allow(/422/)
    await page.goto('/admin/webhooks/new')
    await page.getByRole('textbox', { name: 'Address' }).fill('https://10.0.0.1/hook')
    await page.getByLabel('Name', { exact: true }).fill('Kept')
    await page.getByLabel('Extra headers').fill('no colon here')
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    await expect(page.locator('#f-url-error')).toContainText('refused')
    await expect(page.locator('#f-event_types-error')).toContainText('Choose at least one')
    await expect(page.locator('#f-headers-error')).toContainText('Line 1 has no colon')
    await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Kept')
    await expect(page.getByLabel('Extra headers')).toHaveValue('no colon here')
    await inspect(page, 'webhook-form-wrong')
  })

  test('a new endpoint shows its secret once, and a test its answer', async ({ ownerPage: page, mockStack }) => {
    await page.goto('/admin/webhooks/new')
    await page.getByRole('textbox', { name: 'Address' }).fill(`${mockStack.hook('garden')}?token=kept-to-ourselves`)
    await page.getByLabel('Name', { exact: true }).fill('Garden shop')
    await page.getByRole('checkbox', { name: 'All of corpus.note' }).check()
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Keep this secret now')
    secret = (await page.getByRole('group', { name: 'signing secret' }).textContent()) ?? ''
    expect(secret).toMatch(/^whsec_/)
    await page.getByText('Node', { exact: true }).click()
    await expect(page.getByText('from "standardwebhooks"')).toBeVisible()
    await inspect(page, 'webhook-secret')

    await page.getByRole('button', { name: 'Send test' }).click()
    await expect(page.getByText('200 OK').first()).toBeVisible({ timeout: 20_000 })
    endpoint = new URL(page.url()).pathname
    await expect(page.locator('body')).not.toContainText('kept-to-ourselves')
    await expect(page.locator('body')).not.toContainText(secret)
    const [told] = await received(mockStack)
    expect(verified(secret, told!).type).toBe('webhook.test')
  })

  test('a published note is heard, genuine, and without its text', async ({ ownerPage: page, operation, mockStack }) => {
    await publish(operation, 'Grün <b>\u2028')
    let about: Request[] = []
    await expect(async () => {
      about = (await received(mockStack)).filter((request) => verified(secret, request).type === 'corpus.note.changed')
      expect(about.length).toBeGreaterThan(0)
    }).toPass({ timeout: 30_000 })
    const told = verified(secret, about[0]!)
    expect(about[0]!.headers['Webhook-Id']).toEqual([told.id])
    expect(Buffer.from(about[0]!.body, 'base64').toString('utf8')).not.toContain('privately worded')

    await untilRow(page, endpoint, told.subject, 'delivered')
    await expect(page.getByText('100.0 %').first()).toBeVisible()
    first = about[0]!
  })

  test('a delivery shows the bytes that were signed, and a command without secrets', async ({ ownerPage: page }) => {
    await page.goto(endpoint)
    await row(page, verified(secret, first).subject).getByRole('link').click()
    await expect(page.getByRole('group', { name: 'signed bytes' })).toHaveText(text(first))
    await page.getByText('As a curl command').click()
    await expect(page.getByRole('group', { name: 'curl command' })).not.toContainText(secret)
  })

  test('the list says how an endpoint is doing', async ({ ownerPage: page }) => {
    await page.goto('/admin/webhooks')
    await expect(row(page, 'Garden shop')).toContainText('100.0 %')
  })

  test('what is selected is delivered again under the same id', async ({ ownerPage: page, operation, mockStack }) => {
    await publish(operation, 'Rhubarb')
    await heard(mockStack, secret, 'wiki://rhubarb', 1)
    await until(page, `${endpoint}?state=delivered`, 'wiki://rhubarb')
    await row(page, 'wiki://rhubarb').getByRole('checkbox').check()
    await page.locator('.bulk').getByRole('button', { name: 'Deliver again' }).click()
    await expect(page.getByText('The delivery is sent again')).toBeVisible()
    expect(new URL(page.url()).search).toBe('?state=delivered')
    const [first, second] = await heard(mockStack, secret, 'wiki://rhubarb', 2)
    expect(second!.headers['Webhook-Id']).toEqual(first!.headers['Webhook-Id'])
  })

  test('410 turns it off; switching on asks about what is parked', async ({ ownerPage: page, operation, mockStack }) => {
    await mockStack.control('PUT', 'sink/garden/plan', { steps: [{ status: 410, body: '"><svg onload=alert(7)>' }] })
    await publish(operation, 'Sorrel')
    await until(page, endpoint, 'Switched off')
    await expect(page.getByText('410 Gone').first()).toBeVisible()
    await untilRow(page, endpoint, 'wiki://sorrel', 'failed')
    await row(page, 'wiki://sorrel').getByRole('link').click()
    await expect(page.getByText('"><svg onload=alert(7)>').first()).toBeVisible()

    await publish(operation, 'Tansy')
    await until(page, `${endpoint}?state=parked`, 'wiki://tansy')
    await page.goto(endpoint)
    await mockStack.control('DELETE', 'sink/garden')
    await page.getByRole('link', { name: 'Switch on…' }).click()
    await page.getByLabel('Deliver 1 delivery').check()
    await page.getByRole('button', { name: 'Switch on' }).click()
    await expect(page.getByText('The parked delivery is sent now.')).toBeVisible()
    await heard(mockStack, secret, 'wiki://tansy', 1)
    await page.getByRole('link', { name: 'Deliver all failed again…' }).click()
    await page.getByRole('button', { name: 'Send 1 delivery' }).click()
    await heard(mockStack, secret, 'wiki://sorrel', 1)
  })

  test('a page left open acts on nothing that changed meanwhile, and says what did', async ({ ownerPage: page, operation }) => {
    watched(page).allow(/409/)
    const id = endpoint.split('/').at(-1)
    await page.goto(`${endpoint}/edit`)
    await page.getByLabel('Name', { exact: true }).fill('Typed on the old page')
    await operation('webhooks.update', { id, max_per_second: 7 })
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('changed meanwhile: requests per second')).toBeVisible()
    await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Typed on the old page')
    await page.goto(endpoint)
    await operation('webhooks.update', { id, description: 'Garden shop, renamed' })
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await expect(page.getByText('changed meanwhile: description')).toBeVisible()
    expect((await operation('webhooks.get', { id })).status).toBe('on')
  })

  test('without scripts: pause, rotate, delete', async ({ browser, server, ownerPage: _signedIn }) => {
    const context = await browser.newContext({ baseURL: server.url, storageState: server.session!, javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(endpoint)
    await page.getByRole('button', { name: 'Pause' }).click()
    await expect(page.getByText('The endpoint is paused.')).toBeVisible()
    await page.getByRole('link', { name: 'Rotate secret…' }).click()
    await page.getByLabel('Seven days').check()
    await page.getByRole('button', { name: 'Rotate' }).click()
    await expect(page.getByRole('group', { name: 'signing secret' })).toContainText('whsec_')
    await page.getByRole('link', { name: 'To the endpoint' }).click()
    await expect(page.getByText('old, signs as well until')).toBeVisible()
    await page.getByRole('link', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete the endpoint' }).click()
    await expect(page.getByText('Its log can be read for 14 more days.')).toBeVisible()
    await context.close()
  })
})
