import { createPublicKey, verify } from 'node:crypto'
import { expect, test } from '../harness/test.ts'
import { awkward, forged, happen, header, publish, Receiver, text, verified, type Request, type Told } from '../harness/receiver.ts'

// signed is the content that Standard Webhooks signs: id, timestamp and the bytes of the body.
const signed = (request: Request) => Buffer.from(`${header(request, 'Webhook-Id')}.${header(request, 'Webhook-Timestamp')}.${text(request)}`)

// genuine checks the asymmetric scheme (v1a) with the runtime's own Ed25519; the official library knows only v1.
function genuine(publicKey: string, request: Request): boolean {
  const raw = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' })
  return header(request, 'Webhook-Signature')
    .split(' ')
    .filter((one) => one.startsWith('v1a,'))
    .some((one) => verify(null, signed(request), key, Buffer.from(one.slice(4), 'base64')))
}

test('bodies with every awkward character verify on the bytes as they came', async ({ mockStack, operation, server }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'awkward')
  for (const title of ['Grüße', 'a < b > c & d', 'Zeile\u2028und\u2029Absatz', '日本語 🪴', '"quoted" \\ slash/']) {
    const { subject } = await publish(operation, title)
    const [request] = await shop.heard(subject, 1) // verified in there
    expect(header(request!, 'Content-Type')).toBe('application/json')
    expect(Buffer.byteLength(text(request!))).toBeLessThanOrEqual(20_000)
    // One changed byte, and the official library refuses.
    const tampered = { ...request!, body: Buffer.from(text(request!).replace('"created"', '"deleted"')).toString('base64') }
    expect(forged(shop.secret, tampered)).toBe(true)
  }
  await shop.close()
})

test('a body that holds ü, < and line separators verifies, and says what was meant', async ({ mockStack, operation, server }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'spoilt', { event_types: ['vault.*'] })
  const id = await happen(server)
  const [request] = await shop.heard(`import://${awkward}`, 1) // verified in there
  expect(header(request!, 'Webhook-Id')).toBe(id)
  for (const raw of ['ü', '<', '&', '\u2028', '🪴']) expect(text(request!)).toContain(raw) // themselves, not escaped
  const told: Told = verified(shop.secret, request!)
  expect(told.data).toEqual({ imported: 1, note: awkward, deep: [1.5, null, { [awkward]: false }] })
  await shop.close()
})

test('rotation: both secrets verify during the overlap, and only the new one after it', async ({ mockStack, operation, server }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'rotates')
  const rotated = await operation('webhooks.rotate_secret', { id: shop.id, overlap: '1h' })
  expect(rotated.secret).not.toBe(shop.secret)
  const during = (await shop.heard((await publish(operation, 'During the overlap')).subject, 1))[0]!
  expect(header(during, 'Webhook-Signature').split(' ')).toHaveLength(2)
  expect(verified(rotated.secret, during).id).toBe(verified(shop.secret, during).id)
  // Whether the overlap is over is decided at each send. An hour cannot pass here, so it is cut short by a second rotation
  // that is meant: the old keys stop at once.
  const after = await operation('webhooks.rotate_secret', { id: shop.id, overlap: 'none', force: true })
  const subject = (await publish(operation, 'After the overlap')).subject
  await shop.delivery(subject, 'delivered')
  const late = (await shop.requests()).at(-1)!
  expect(verified(after.secret, late).subject).toBe(subject)
  expect([forged(shop.secret, late), forged(rotated.secret, late)]).toEqual([true, true])
  await shop.close()
})

test('ed25519: the receiver holds a public key only, and a scheme can be changed within an overlap', async ({ mockStack, operation, server }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'asymmetric', { scheme: 'ed25519' })
  expect(shop.secret).toBe('')
  expect(shop.public).toMatch(/^whpk_/)
  const { subject } = await publish(operation, 'Süß & <sauer>\u2028')
  await shop.delivery(subject, 'delivered')
  const [request] = await shop.requests()
  expect(header(request!, 'Webhook-Signature')).toMatch(/^v1a,[^ ]+$/)
  expect(genuine(shop.public, request!)).toBe(true)
  expect(genuine(shop.public, { ...request!, body: Buffer.from(`${text(request!)} `).toString('base64') })).toBe(false)

  const rotated = await operation('webhooks.rotate_secret', { id: shop.id, overlap: '24h', scheme: 'hmac' })
  const both = await publish(operation, 'Both schemes')
  await shop.delivery(both.subject, 'delivered')
  const second = (await shop.requests()).at(-1)!
  expect(genuine(shop.public, second)).toBe(true)
  expect(verified(rotated.secret, second).subject).toBe(both.subject)
  await shop.close()
})
