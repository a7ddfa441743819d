import { expect, inspect, test, watched, type Page } from '../harness/test.ts'
import { header, publish, Receiver, verified } from '../harness/receiver.ts'

const row = (page: Page, subject: string) => page.locator('tbody tr', { hasText: subject })

for (const choice of ['deliver', 'drop'] as const) {
  test(`paused, then switched on with "${choice}" for what was parked`, async ({ mockStack, operation, server, ownerPage: page }) => {
    const shop = await Receiver.create({ mockStack, operation, server }, `parks-to-${choice}`)
    await shop.heard((await publish(operation, `Before the pause to ${choice}`)).subject, 1)
    await page.goto(shop.page)
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await expect(page.getByText('The endpoint is paused.')).toBeVisible()
    const parked = [await publish(operation, `Parked one to ${choice}`), await publish(operation, `Parked two to ${choice}`)]
    for (const note of parked) await shop.delivery(note.subject, 'parked')
    expect(await shop.requests()).toHaveLength(1)
    await page.goto(`${shop.page}/enable`)
    await page.getByLabel(choice === 'deliver' ? 'Deliver 2 deliveries' : 'Drop 2 deliveries').check()
    await page.getByRole('button', { name: 'Switch on' }).click()
    await expect(page.getByText(choice === 'deliver' ? '2 parked deliveries are sent, slowly at first.' : '2 parked deliveries were dropped.')).toBeVisible()
    for (const note of parked) await shop.delivery(note.subject, choice === 'deliver' ? 'delivered' : 'dropped')
    await shop.heard((await publish(operation, `After the pause to ${choice}`)).subject, 1)
    for (const note of parked) await shop.heard(note.subject, choice === 'deliver' ? 1 : 0)
    await shop.close()
  })
}

test('a deleted endpoint with waiting retries gets no request any more', async ({ mockStack, operation, server, ownerPage: page }) => {
  const world = { mockStack, operation, server }
  const shop = await Receiver.create(world, 'deleted')
  const beside = await Receiver.create(world, 'beside')
  await shop.plan({ status: 500 })
  const notes = [await publish(operation, 'Deleted one'), await publish(operation, 'Deleted two')]
  await shop.heard(notes[0]!.subject, 1)
  for (const note of notes) await shop.delivery(note.subject, 'waiting')
  await page.goto(`${shop.page}/delete`)
  await expect(page.getByText('2 deliveries will be cancelled')).toBeVisible()
  await page.getByRole('button', { name: 'Delete the endpoint' }).click()
  await expect(page.getByText('2 deliveries are cancelled')).toBeVisible()
  const seen = (await shop.requests()).length
  // Were a retry left, it would come now.
  await shop.hurry()
  const [open] = await server.database.query<{ n: string }>(
    `select count(*) as n from river.river_job where kind = 'webhook.deliver' and finalized_at is null and args @> $1`, [JSON.stringify({ endpoint_id: shop.id })])
  expect(Number(open!.n)).toBe(0)
  const last = await publish(operation, 'After the deletion')
  await beside.heard(last.subject, 1)
  expect(await shop.requests()).toHaveLength(seen)
  for (const note of notes) await shop.delivery(note.subject, 'cancelled') // and the log can still be read
  await beside.close()
})

test('send again: one, the selected, all that failed, each under the id it had', async ({ mockStack, operation, server, ownerPage: page }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'again')
  await shop.plan({ status: 400, count: 5 }, { status: 200 })
  const notes = []
  for (const name of ['one', 'two', 'three', 'four', 'five']) {
    const note = await publish(operation, `Refused ${name}`)
    notes.push(note)
    // A refusal makes the endpoint a failing one, whose next delivery starts five minutes late.
    await expect.poll(async () => (await shop.deliveries()).map((delivery) => delivery.subject)).toContain(note.subject)
    await shop.hurry()
    await shop.delivery(note.subject, 'failed')
  }
  const id = async (subject: string) => (await shop.delivery(subject, 'failed')).event_id
  const ids = new Map<string, string>()
  for (const note of notes) ids.set(note.subject, await id(note.subject))

  await page.goto(`${shop.page}/deliveries/${ids.get(notes[0]!.subject)}`)
  await page.getByRole('button', { name: 'Deliver again' }).click()
  await expect(page.getByText('The delivery is sent again')).toBeVisible()
  await shop.heard(notes[0]!.subject, 2)
  await shop.delivery(notes[0]!.subject, 'delivered')

  await page.goto(`${shop.page}?state=failed`)
  for (const note of notes.slice(1, 3)) await row(page, note.subject).getByRole('checkbox').check()
  await page.locator('.bulk').getByRole('button', { name: 'Deliver again' }).click()
  await expect(page.getByText('2 deliveries are sent again')).toBeVisible()
  for (const note of notes.slice(1, 3)) await shop.delivery(note.subject, 'delivered')

  await page.goto(shop.page)
  await page.getByRole('link', { name: 'Deliver all failed again…' }).click()
  await expect(page.getByRole('button', { name: 'Send 2 deliveries' })).toBeVisible()
  await inspect(page, 'webhook-failed-again')
  await page.getByRole('button', { name: 'Send 2 deliveries' }).click()
  for (const note of notes) {
    await shop.delivery(note.subject, 'delivered')
    const requests = await shop.heard(note.subject, 2)
    expect(requests.map((request) => header(request, 'Webhook-Id'))).toEqual([ids.get(note.subject), ids.get(note.subject)])
  }
  await shop.close()
})

test('recover: what never arrived, and everything since a time, counted before anything is sent', async ({ mockStack, operation, server, ownerPage: page }) => {
  const world = { mockStack, operation, server }
  const before = await publish(operation, 'Before there was a receiver')
  // An endpoint hears what is matched after its creation, which may be a moment after it happened.
  await expect
    .poll(async () => (await server.database.query(`select from events where fanned_out_at is null union all
      select from river.river_job where kind = 'webhook.fanout' and finalized_at is null`)).length)
    .toBe(0)
  const shop = await Receiver.create(world, 'recovers')
  const heard = await publish(operation, 'Heard at once')
  await shop.heard(heard.subject, 1)
  await shop.delivery(heard.subject, 'delivered')
  // Older than everything that is kept: refused, and the answer names what is the oldest.
  await page.goto(`${shop.page}/recover`)
  await page.getByLabel('Since').fill('2001-01-01T00:00')
  const refused = page.waitForResponse((answer) => answer.url().includes('since='))
  watched(page).allow(/422/)
  await page.getByRole('button', { name: 'Count' }).click()
  expect((await refused).status()).toBe(422)
  await expect(page.locator('#f-since-error')).toContainText('The oldest event that is kept is of')
  await expect(page.getByLabel('Since')).toHaveValue('2001-01-01T00:00')

  const [oldest] = await server.database.query<{ at: Date }>(`select date_trunc('second', occurred_at) as at from events order by seq limit 1`)
  const since = oldest!.at.toISOString()
  const [owed] = await server.database.query<{ n: string }>(`
    select count(*) as n from events e where type = 'corpus.note.changed' and data ->> 'genre' <> 'raw'
      and (data @> '{"published": true}' or data @> '{"was_published": true}')
      and not exists (select from webhook_deliveries d where d.event_id = e.id and d.endpoint_id = $1 and d.state in ('delivered', 'waiting'))`, [shop.id])
  const missed = Number(owed!.n)
  expect(missed).toBeGreaterThan(0)
  const counted = await operation('webhooks.recover', { endpoint_id: shop.id, since, count_only: true })
  expect(counted.count).toEqual({ n: missed, at_least: false })
  expect(counted.job_id).toBeUndefined()
  expect(await shop.requests()).toHaveLength(1)

  await page.goto(`${shop.page}/recover?since=${encodeURIComponent(since.slice(0, 19))}&which=undelivered`)
  await expect(page.getByRole('button', { name: new RegExp(`Send ${missed} deliver`) })).toBeVisible()
  await inspect(page, 'webhook-recover-counted')
  await page.getByRole('button', { name: new RegExp(`Send ${missed} deliver`) }).click()
  await shop.delivery(before.subject, 'delivered')
  await expect.poll(async () => (await shop.requests()).length, { timeout: 60_000 }).toBe(missed + 1)
  const ids = (await shop.requests()).map((request) => verified(shop.secret, request).id)
  expect(new Set(ids).size).toBe(ids.length)

  const all = await operation('webhooks.recover', { endpoint_id: shop.id, since, which: 'all' })
  expect(all.count.n).toBe(missed + 1)
  await expect.poll(async () => (await shop.requests()).length, { timeout: 60_000 }).toBe(2 * (missed + 1))
  const times = new Map<string, number>()
  for (const request of await shop.requests()) times.set(header(request, 'Webhook-Id'), (times.get(header(request, 'Webhook-Id')) ?? 0) + 1)
  expect([...times.values()]).toEqual(ids.map(() => 2))
  await shop.close()
})
