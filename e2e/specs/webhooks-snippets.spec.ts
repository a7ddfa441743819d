import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { artifacts, root } from '../harness/paths.ts'
import { Program } from '../harness/process.ts'
import { expect, test, type Page } from '../harness/test.ts'
import { awkward, happen, header, Receiver, text, verified, type Operation } from '../harness/receiver.ts'

const run = promisify(execFile)

// Each language's own way from the shown code to a program: the code as it stands, and around it only what the author of a
// receiver has to add, with the port given by the test.
type Language = { title: string; program(code: string, dir: string): Promise<[command: string, args: string[]]> }

const put = (dir: string, name: string, code: string) => {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, name)
  writeFileSync(file, code)
  return file
}

function changed(code: string, from: string, to: string): string {
  expect(code).toContain(from)
  return code.replace(from, to)
}

const languages: Language[] = [
  {
    title: 'Go',
    async program(code, dir) {
      const main = 'func main() { panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(receive))) }'
      const file = put(dir, 'main.go', `package main\n\nimport "io"\nimport "net/http"\nimport "os"\n${code}\n\n${main}\n`)
      await run('go', ['build', '-o', join(dir, 'receiver'), file], { cwd: root })
      return [join(dir, 'receiver'), []]
    },
  },
  {
    title: 'Node',
    async program(code, dir) {
      return [process.execPath, [put(dir, 'receiver.mjs', changed(code, 'listen(3000)', 'listen(Number(process.env.PORT), "127.0.0.1")'))]]
    },
  },
  {
    title: 'Python',
    async program(code, dir) {
      return ['python3', [put(dir, 'receiver.py', changed(code, '("", 3000)', '("127.0.0.1", int(os.environ["PORT"]))'))]]
    },
  },
]

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((ready) => probe.listen(0, '127.0.0.1', ready))
  const { port } = probe.address() as AddressInfo
  await new Promise((closed) => probe.close(closed))
  return port
}

// rotate presses the owner's way to a new secret, whose page shows the code.
async function rotate(page: Page, id: string, overlap: string): Promise<string> {
  await page.goto(`/admin/webhooks/${id}/rotate`)
  await page.getByLabel(overlap).check()
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  const secret = page.locator('pre[aria-label="signing secret"]')
  await expect(secret).toBeVisible()
  return (await secret.textContent())!
}

// answered is what the receiver said to an event.
async function answered(operation: Operation, endpoint: string, event: string): Promise<string> {
  let said = ''
  await expect(async () => {
    const { deliveries } = await operation('webhooks.deliveries', { endpoint_id: endpoint })
    const found = deliveries.find((d: { event_id: string }) => d.event_id === event)
    said = `${found?.state} ${found?.last_status}`
    expect(found?.last_status ?? 0).toBeGreaterThan(0)
  }).toPass({ timeout: 60_000 })
  return said
}

for (const language of languages) {
  test(`the code shown for ${language.title} takes what is genuine and nothing else`, async ({ ownerPage: page, operation, server }) => {
    test.setTimeout(240_000)
    const port = await freePort()
    const { endpoint } = await operation('webhooks.create', { url: `http://127.0.0.1:${port}/hook`, event_types: ['vault.*'] })
    const secret = await rotate(page, endpoint.id, 'Not at all')
    await page.locator('summary', { hasText: language.title }).click()
    const code = await page.locator(`pre[aria-label="${language.title} code"]`).textContent()
    const dir = join(artifacts, 'snippets', language.title.toLowerCase())
    const [command, args] = await language.program(code!, dir)
    const receiver = new Program(command, args, { PORT: String(port), WEBHOOK_SECRET: secret }, join(dir, 'output.log'))
    try {
      const hook = `http://127.0.0.1:${port}/hook`
      const forged = { method: 'POST', body: '{}', headers: { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,AAAA' } }
      await expect(async () => expect((await fetch(hook, forged)).status).toBe(401)).toPass({ timeout: 60_000 })
      for (const headers of [{}, { ...forged.headers, 'webhook-timestamp': 'yesterday' }, { ...forged.headers, 'webhook-timestamp': '1' }]) {
        expect((await fetch(hook, { ...forged, headers })).status).toBe(401)
      }
      const first = await happen(server)
      expect(await answered(operation, endpoint.id, first)).toBe('delivered 204')
      if (language.title !== 'Go') await expect.poll(() => receiver.output).toContain(`vault.imported ${first}`)

      await rotate(page, endpoint.id, 'One day') // both sign
      expect(await answered(operation, endpoint.id, await happen(server))).toBe('delivered 204')

      await operation('webhooks.rotate_secret', { id: endpoint.id, overlap: 'none', force: true }) // only the new one signs
      expect(await answered(operation, endpoint.id, await happen(server))).toBe('failed 401')
    } finally {
      await receiver.end('SIGKILL')
      await operation('webhooks.delete', { id: endpoint.id })
    }
  })
}

test('the curl command of a delivery sends the same, genuinely signed', async ({ ownerPage: page, operation, mockStack, server }) => {
  const shop = await Receiver.create({ mockStack, operation, server }, 'curled', { event_types: ['vault.*'] })
  const id = await happen(server)
  const [sent] = await shop.heard(`import://${awkward}`, 1)
  await page.goto(`${shop.page}/deliveries/${id}`)
  const command = await page.locator('pre[aria-label="curl command"]').textContent()
  const filled = changed(changed(command!, "URL=''", `URL='${mockStack.hook('curled')}'`), "SECRET=''", `SECRET='${shop.secret}'`)
  for (const shell of ['sh', 'bash']) await run(shell, ['-euc', filled])
  const copies = (await shop.heard(`import://${awkward}`, 3)).slice(1) // verified in there
  for (const copy of copies) {
    expect(text(copy)).toBe(text(sent!))
    expect(verified(shop.secret, copy).id).toBe(id)
    for (const name of ['Webhook-Id', 'Content-Type']) expect(header(copy, name)).toBe(header(sent!, name))
  }
  await shop.close()
})
