import { expect, signIn, test } from '../harness/test.ts'
import { publish, Receiver, subjectOf, text, verified, type Told } from '../harness/receiver.ts'

test('unpublishing is heard; private notes and the raw inbox never leave', async ({ mockStack, operation, server }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'listens', { event_types: ['**'] })
  const sentinel = 'sentinel-of-what-stays-here'
  const hidden = await operation('corpus.create', { genre: 'wiki', title: `Private ${sentinel}`, body: sentinel })
  const raw = await operation('corpus.create', { genre: 'raw', title: `Raw ${sentinel}`, body: sentinel })
  await operation('corpus.update', { id: hidden.note_id, title: `Still private ${sentinel}` })
  await operation('corpus.update', { id: raw.note_id, body: `${sentinel} twice` })
  await operation('corpus.delete', { ids: [raw.note_id] })
  const shown = await publish(operation, 'Shown for a while')
  await shop.heard(shown.subject, 1)
  await operation('corpus.publish', { ids: [shown.id], published: false })
  const [, taken] = await shop.heard(shown.subject, 2)
  expect(verified(shop.secret, taken!)).toMatchObject({ type: 'corpus.note.changed', data: { op: 'updated', note_id: shown.id, published: false, was_published: true } })
  // Renamed while private: the new title is nobody's business, not even in a subject.
  await operation('corpus.update', { id: shown.id, title: `Renamed ${sentinel}`, slug: `renamed-${sentinel}` })
  // What comes last is heard, so everything before it was decided on.
  await shop.heard((await publish(operation, 'Heard last')).subject, 1)
  for (const request of await shop.requests()) {
    expect(text(request) + JSON.stringify(request.headers)).not.toContain(sentinel)
    expect(text(request)).not.toContain(hidden.note_id)
    expect(text(request)).not.toContain(raw.note_id)
  }
  const log = JSON.stringify(await shop.deliveries())
  expect(log).not.toContain(sentinel)
  await shop.close()
})

// Every type of event is reached by what a person does, and none carries a text, an address or a secret.
test('each type of event arrives with its subject and without anything confidential', async ({ mockStack, operation, server, browser }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'hears-all', { event_types: ['**'] })
  const body = 'the words of the body stay here'
  const wiki = await publish(operation, 'A public note', { body })
  const made = await operation('corpus.create', { genre: 'writing', title: 'First frost', body, published: true, tags: ['demo'] })
  const writing = { id: made.note_id as string, subject: subjectOf(made.address) }
  await operation('corpus.publish', { ids: [writing.id], published: false })
  await operation('corpus.import', { name: 'garden', files: [{ path: 'Pump.md', text: body }], publish_default: true })
  const context = await browser.newContext()
  await signIn(await context.newPage(), server)
  await context.close()
  const token = await operation('tokens.issue', { name: 'named in private', classes: ['read'] })
  await operation('tokens.revoke', { id: token.token.id })
  await operation('webhooks.send_test', { id: shop.id })
  const [owner] = await server.database.query<{ id: string }>('select id from owners')

  const expected: Record<string, string> = {
    'writing.published': writing.subject,
    'writing.unpublished': writing.subject,
    'vault.imported': 'vault://garden',
    'owner.login': `owner://${owner!.id}`,
    'api_key.issued': `token://${token.token.id}`,
    'api_key.revoked': `token://${token.token.id}`,
    'webhook.test': `endpoint://${shop.id}`,
  }
  let told: Told[] = []
  await expect(async () => {
    told = (await shop.requests()).map((request) => verified(shop.secret, request))
    for (const type of Object.keys(expected)) expect(told.map((one) => one.type)).toContain(type)
    for (const subject of [wiki.subject, writing.subject, 'wiki://pump'])
      expect(told.filter((one) => one.type === 'corpus.note.changed').map((one) => one.subject)).toContain(subject)
  }).toPass({ timeout: 60_000 })
  for (const [type, subject] of Object.entries(expected)) {
    const [one] = told.filter((candidate) => candidate.type === type)
    expect(one!.subject, type).toBe(subject)
    expect(new Date(one!.timestamp).toISOString().slice(0, 10), type).toBe(new Date().toISOString().slice(0, 10))
  }
  const { types } = await operation('webhooks.event_types')
  for (const one of told) {
    const declared = types.find((type: { name: string }) => type.name === one.type)
    expect(declared, one.type).toBeTruthy()
    // The example that the panel shows has the fields that are really sent.
    expect(Object.keys(one.data).sort(), one.type).toEqual(Object.keys(declared.example).sort())
  }
  const cookies = server.session!.cookies.map((cookie) => cookie.value)
  const secrets = [body, 'the words of the body', server.owner.email, server.owner.password, server.setupToken, shop.secret, token.secret, 'named in private', ...cookies]
  for (const request of await shop.requests()) {
    const all = text(request) + JSON.stringify(request.headers)
    for (const secret of secrets) expect(all, `sent with ${verified(shop.secret, request).type}`).not.toContain(secret)
  }
  await shop.close()
})
