import { expect, inspect, test } from '../harness/test.ts'
import { header, pause, publish, Receiver, text, verified, type Step } from '../harness/receiver.ts'

const second = 1000
const minute = 60 * second

// Each test makes its own receiver and deletes the endpoint in the end, so that none hears of another's notes.
test.describe('what becomes of an answer', () => {
  let receivers: Receiver[] = []
  test.beforeEach(() => {
    receivers = []
  })
  test.afterEach(async () => {
    for (const receiver of receivers) await receiver.close()
  })

  test('500, 500, 200: the third attempt delivers, once, under the same id and with a new timestamp', async ({ mockStack, operation, server }) => {
    const shop = await Receiver.create({ mockStack, operation, server }, 'fails-twice')
    receivers.push(shop)
    await shop.plan({ status: 500, count: 1, body: 'no' }, { status: 500, count: 1 }, { status: 200 })
    const { subject } = await publish(operation, 'Grün <b>\u2028</b>')
    await shop.heard(subject, 1)
    const delivery = await shop.delivery(subject, 'waiting')
    // The first retry comes by itself, after about five seconds; the next would be five minutes away and is hurried.
    await shop.heard(subject, 2)
    expect((await shop.attempt(delivery, 2)).outcome).toBe('retryable')
    await expect.poll(async () => (await shop.task(delivery)).state).toBe('retryable')
    const until = new Date((await shop.task(delivery)).scheduled_at).getTime() - Date.now()
    expect(until).toBeGreaterThan(4 * minute)
    expect(until).toBeLessThan(6 * minute)
    await shop.hurry()
    const requests = await shop.heard(subject, 3)
    const done = await shop.delivery(subject, 'delivered')
    expect(done.attempts).toBe(3)
    expect(await shop.attempt(done, 3)).toMatchObject({ number: 3, outcome: 'delivered', status: 200, trigger: 'automatic' })
    expect(requests.map((request) => request.status)).toEqual([500, 500, 200])
    expect(new Set(requests.map((request) => header(request, 'Webhook-Id')))).toEqual(new Set([done.event_id]))
    expect(Number(header(requests[2]!, 'Webhook-Timestamp'))).toBeGreaterThan(Number(header(requests[0]!, 'Webhook-Timestamp')))
    // The third was hurried and may fall into the same second as the one before, and a signature is of its second.
    expect(header(requests[1]!, 'Webhook-Signature')).not.toBe(header(requests[0]!, 'Webhook-Signature'))
    expect(new Set(requests.map(text)).size).toBe(1)
    expect((await shop.endpoint()).status).toBe('on')
  })

  // The times pass by themselves, and are long enough for all that is looked at meanwhile: two notes, whose answers alone may
  // take two seconds each on a slow machine.
  for (const [what, step, least] of [
    ['seconds', { retry_after: '15' }, 15 * second],
    ['an HTTP date', { retry_after_in: '16s' }, 15 * second], // a date has whole seconds
  ] as const) {
    test(`429 with Retry-After in ${what}: nothing is sent before, and no attempt is spent`, async ({ mockStack, operation, server }) => {
      const shop = await Receiver.create({ mockStack, operation, server }, `asks-for-${what.replaceAll(' ', '-')}`)
      receivers.push(shop)
      await shop.plan({ status: 429, count: 1, ...step }, { status: 200 })
      const first = await publish(operation, `Asked to wait in ${what}`)
      await shop.heard(first.subject, 1)
      const delivery = await shop.delivery(first.subject, 'waiting')
      expect(await shop.attempt(delivery, 1)).toMatchObject({ outcome: 'snoozed', status: 429 })
      expect((await shop.attempt(delivery, 1)).wait_seconds).toBeGreaterThanOrEqual(least / second - 1)
      expect((await shop.endpoint()).not_before).toBeTruthy()
      const others = [await publish(operation, `Meanwhile one, ${what}`), await publish(operation, `Meanwhile two, ${what}`)]
      for (const other of others) await shop.delivery(other.subject, 'waiting')
      // A new delivery to an endpoint that has just failed would start five minutes late; it still is not before the time.
      const requests = await shop.heard(first.subject, 2)
      expect(pause(requests[0]!, requests[1]!)).toBeGreaterThanOrEqual(least - 100)
      for (const request of (await shop.requests()).slice(1)) expect(pause(requests[0]!, request)).toBeGreaterThanOrEqual(least - 100)
      await shop.delivery(first.subject, 'delivered')
      // The task counts what was spent: the one attempt that delivered.
      const task = await shop.task(delivery)
      expect(task.total_attempts).toBe(1)
      expect(task.snoozes).toBeGreaterThanOrEqual(1)
      for (const other of others) {
        await shop.heard(other.subject, 1)
        await shop.delivery(other.subject, 'delivered')
      }
    })
  }

  test('429 with nonsense in Retry-After is an ordinary failure: it costs an attempt and waits its five seconds', async ({ mockStack, operation, server }) => {
    const shop = await Receiver.create({ mockStack, operation, server }, 'talks-nonsense')
    receivers.push(shop)
    await shop.plan({ status: 429, count: 1, retry_after: 'soon, I hope' }, { status: 200 })
    const { subject } = await publish(operation, 'Nonsense')
    const requests = await shop.heard(subject, 2)
    expect(pause(requests[0]!, requests[1]!)).toBeGreaterThan(4.4 * second)
    const delivery = await shop.delivery(subject, 'delivered')
    expect(await shop.attempt(delivery, 1)).toMatchObject({ outcome: 'retryable', status: 429, wait_seconds: 0 })
    const task = await shop.task(delivery)
    expect([task.total_attempts, task.snoozes]).toEqual([2, 0])
  })

  test('410: the delivery has failed, the endpoint is off and says why, the rest is parked', async ({ mockStack, operation, server, ownerPage: page }) => {
    const shop = await Receiver.create({ mockStack, operation, server }, 'is-gone')
    receivers.push(shop)
    await shop.plan({ status: 500, count: 1 }, { status: 410 })
    const first = await publish(operation, 'Before it went')
    await shop.heard(first.subject, 1)
    await expect.poll(async () => (await shop.endpoint()).status).toBe('failing')
    const second = await publish(operation, 'In line behind it') // starts five minutes late, at an endpoint that fails
    await shop.delivery(second.subject, 'waiting')
    await shop.heard(first.subject, 2) // after its five seconds
    await shop.delivery(first.subject, 'failed')
    await shop.delivery(second.subject, 'parked')
    const third = await publish(operation, 'After it went')
    await shop.delivery(third.subject, 'parked')
    expect(await shop.requests()).toHaveLength(2)
    await page.goto(shop.page)
    await expect(page.getByText('Switched off', { exact: true }).first()).toBeVisible()
    await expect(page.getByText('The receiver answered 410 Gone').first()).toBeVisible()
  })

  for (const [status, where] of [
    [302, 'elsewhere'],
    [307, 'elsewhere'],
    [308, 'sends-308'], // to itself
  ] as const) {
    test(`${status}: failed, never followed, and the page shows where it pointed (F14)`, async ({ mockStack, operation, server, ownerPage: page }) => {
      const shop = await Receiver.create({ mockStack, operation, server }, `sends-${status}`)
      receivers.push(shop)
      await mockStack.control('DELETE', 'sink/elsewhere')
      await shop.plan({ status, location: `${mockStack.hook(where)}?token=of-the-target` })
      const { subject } = await publish(operation, `Moved with ${status}`)
      const delivery = await shop.delivery(subject, 'failed')
      expect(await shop.attempt(delivery, 1)).toMatchObject({ outcome: 'redirected', status })
      await page.goto(`${shop.page}/deliveries/${delivery.event_id}`)
      await expect(page.getByText('Redirects are never followed.')).toBeVisible()
      await expect(page.getByText(new URL(mockStack.hook(where)).host).first()).toBeVisible()
      await expect(page.locator('body')).not.toContainText('of-the-target')
      await expect(page.getByRole('link', { name: 'edit the address' })).toBeVisible()
      if (status === 302) await inspect(page, 'webhook-redirected')
      expect(await mockStack.control('GET', 'sink/elsewhere')).toMatchObject({ requests: 0 })
      expect(await shop.requests()).toHaveLength(1)
    })
  }

  test('a receiver that drips, never ends, or says too much has said 200: one request each (F17)', async ({ mockStack, operation, server }) => {
    const world = { mockStack, operation, server }
    const ways: Record<string, Step> = {
      drips: { status: 200, body: 'abc', drip: '200ms' },
      endless: { status: 200, endless: true },
      bomb: { status: 200, gzip_size: 10_000_000_000 },
      headers: { status: 200, header_bytes: 1_000_000 },
      broken: { status: 200, body_base64: Buffer.from([0x61, 0x00, 0xff, 0xc3]).toString('base64') },
    }
    for (const [name, step] of Object.entries(ways)) {
      const receiver = await Receiver.create(world, name)
      receivers.push(receiver)
      await receiver.plan(step)
    }
    const { subject } = await publish(operation, 'Said well, and then more')
    for (const receiver of receivers) {
      const delivery = await receiver.delivery(subject, 'delivered')
      expect(await receiver.attempt(delivery, 1), receiver.name).toMatchObject({ outcome: 'delivered', status: 200 })
      expect((await receiver.requests()).map((request) => verified(receiver.secret, request).id), receiver.name).toEqual([delivery.event_id])
    }
  })

  test('a receiver that closes, or is slower than the deadline, is asked again', async ({ mockStack, operation, server }) => {
    const world = { mockStack, operation, server }
    const closing = await Receiver.create(world, 'closing')
    const slow = await Receiver.create(world, 'slow')
    receivers.push(closing, slow)
    await closing.plan({ drop: true, count: 1 }, { status: 200 })
    await slow.plan({ status: 200, delay: '30s', count: 1 }, { status: 200 })
    const { subject } = await publish(operation, 'Asked again')
    const dropped = await closing.delivery(subject, 'delivered')
    expect(await closing.attempt(dropped, 1)).toMatchObject({ outcome: 'retryable', status: 0, error_class: 'reset' })
    expect((await closing.heard(subject, 2)).map((request) => header(request, 'Webhook-Id'))).toEqual([dropped.event_id, dropped.event_id])

    const late = await slow.attempt(await slow.delivery(subject, 'waiting'), 1)
    expect(late).toMatchObject({ outcome: 'retryable', status: 0, error_class: 'timeout' })
    expect(late.total_ms).toBeGreaterThan(9_500) // the deadline is ten seconds
    const delivery = await slow.delivery(subject, 'delivered') // after five seconds more
    expect(delivery.attempts).toBe(2)
  })
})
