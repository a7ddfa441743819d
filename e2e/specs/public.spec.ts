import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { APIRequestContext } from '@playwright/test'
import { expect, inspect, test } from '../harness/test.ts'

const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

// A small vault with some of everything, and with what must not be seen.
const vault: Record<string, string | Buffer> = {
  'Welcome.md': '---\npublish: true\ndescription: Where to begin, as [[Salary talk|others]] said. %%hid1%%\n---\nStart with [[Kitchen sink]] or [[反向链接]]. Ask [[Salary talk|about the talk]].',
  'Kitchen sink.md':
    '---\npublish: true\ntags: [demo, nested/tag]\naliases: [Sink]\n---\n## Text\n\nSome *emphasis*, ==marks==, ~~gone~~, `code`, [out](https://example.com), #inline and a note[^1]. ' +
    'seen %%hid1%% seen\n\n[^1]: The note.\n\n- [x] done\n- [ ] open\n\n> [!warning] Mind the [[Welcome|very first]] `step` of all that there are on the way\n> Steep.\n\n> [!tip]- Folded\n> Inside.\n\n## Table\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n' +
    '## Code\n\n```go\nfunc main() { println("hi") } // %% kept %%\n```\n\n$$\ne = mc^2\n$$\n\n## Embeds\n\n![[Welcome]]\n\n![[dot.png|64]]\n\n![[Salary talk]]\n\n![](https://example.com/remote.png)\n',
  '反向链接.md': '---\npublish: true\n---\n反向链接显示指向此笔记的链接。[[Kitchen sink]]',
  'Salary talk.md': '---\npublish: false\ntags: [payroll]\n---\nSalary secret ![[payslip.png]]',
  'dot.png': pixel,
  'payslip.png': Buffer.concat([pixel, Buffer.from('payslip')]),
}

test.describe.serial('the public site', () => {
  test('takes in a vault', async ({ server }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-vault-'))
    for (const [path, content] of Object.entries(vault)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    const { code, output } = await server.run('import', folder)
    expect(code, output).toBe(0)
  })

  test('takes in a writing', async ({ operation }) => {
    await operation('corpus.create', { genre: 'writing', title: 'First frost', body: 'It was cold. [[Kitchen sink]]', published: true, tags: ['demo'] })
  })

  for (const [path, name, title] of [
    ['/', 'home', 'Welcome'],
    ['/wiki/', 'wiki', 'Notes'],
    ['/wiki/kitchen-sink', 'note', 'Kitchen sink'],
    ['/wiki/反向链接', 'note-chinese', '反向链接'],
    ['/writing/', 'writing', 'Writing'],
    ['/writing/first-frost', 'writing-one', 'First frost'],
    ['/tags/', 'tags', 'Tags'],
    ['/tags/demo', 'tag', '#demo'],
  ]) {
    test(`reads well at ${path}`, async ({ page }) => {
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1 })).toHaveText(title)
      await inspect(page, `public-${name}`)
    })
  }

  test('shows what surrounds a note, without a script', async ({ page }) => {
    await page.goto('/wiki/kitchen-sink')
    await expect(page.locator('script')).toHaveCount(0)
    await expect(page.getByRole('navigation', { name: 'On this page' }).getByRole('link', { name: 'Table' })).toHaveAttribute('href', '#table')
    await expect(page.locator('.backlinks')).toContainText('First frost')
  })

  test('is searched, in Chinese too, and leads to the place', async ({ page }) => {
    await page.goto('/')
    await page.getByRole('searchbox').fill('链接')
    await page.getByRole('searchbox').press('Enter')
    await expect(page.locator('.index mark').first()).toBeVisible()
    await inspect(page, 'public-search')
    await page.getByRole('link', { name: '反向链接' }).first().click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('反向链接')
    await page.goto('/search?q=nothinglikethis')
    await inspect(page, 'public-search-empty')
    await page.goto('/search')
    await inspect(page, 'public-search-asked')
  })

  test('has no broken link, picture or literal markup on any page', async ({ request, server }) => {
    const pages = await crawl(request, server.url)
    expect(pages.size).toBeGreaterThan(10)
    for (const [path, { status, html }] of pages) {
      expect(status, path).toBe(200)
      const text = html.replace(/<(pre|code|head)[^>]*>[\s\S]*?<\/\1>/g, '').replace(/<[^>]+>/g, '')
      for (const mark of ['[[', ']]', '%%', '==', '```', '[!', '~~']) expect(text, `${path} shows ${mark}`).not.toContain(mark)
      expect(html, path).not.toMatch(/<(script|iframe|style)\b|\sstyle=|src="http/)
    }
  })

  test('tells nothing of what is private, anywhere', async ({ request, server, operation }) => {
    const { notes } = await operation<{ notes: { id: string; title: string }[] }>('corpus.list', { text: 'Salary' })
    const pages = await crawl(request, server.url)
    for (const path of ['/search?q=secret', '/search?q=payslip', '/feed.xml', '/feed.json', '/sitemap.xml', '/tags/payroll', '/wiki/salary-talk', '/wiki/Salary%20talk/']) {
      const answer = await request.get(server.url + path)
      pages.set(path, { status: answer.status(), html: await answer.text() })
    }
    for (const [path, { html }] of pages) {
      expect(html.replaceAll('value="payslip"', '').replaceAll('“payslip”', '').replaceAll('payslip · Search', ''), path).not.toMatch(/salary|payslip|payroll|hid1/i)
    }
    const [file] = await server.database.query<{ id: string }>(`select id from attachments where name = 'payslip.png'`)
    expect((await request.get(`${server.url}/files/${file.id}/payslip.png`)).status()).toBe(404)

    const missing = await (await request.get(`${server.url}/wiki/nothing-here`)).text()
    expect(await (await request.get(`${server.url}/wiki/salary-talk`)).text()).toBe(missing)

    await operation('corpus.publish', { ids: [notes[0].id], published: true })
    const open = await request.get(`${server.url}/wiki/salary-talk`)
    expect(open.status()).toBe(200)
    expect((await request.get(`${server.url}/files/${file.id}/payslip.png`)).status()).toBe(200)
    await operation('corpus.publish', { ids: [notes[0].id], published: false })
    const replay = await request.get(`${server.url}/wiki/salary-talk`, { headers: { 'If-None-Match': open.headers()['etag'] } })
    expect(replay.status()).toBe(404)
    expect((await request.get(`${server.url}/files/${file.id}/payslip.png`)).status()).toBe(404)
  })

  test('can be printed and followed', async ({ page, request, server }) => {
    await page.goto('/wiki/kitchen-sink')
    await page.emulateMedia({ media: 'print' })
    await expect(page.getByRole('navigation', { name: 'Site' })).toBeHidden()
    await page.emulateMedia({ media: null })
    const feed = await (await request.get(`${server.url}/feed.json`)).json()
    expect(feed.items[0].title).toBe('First frost')
    expect(feed.items[0].content_html).toContain(`href="${server.url}/wiki/kitchen-sink"`)
  })
})

// crawl follows every link and picture of the site from its front page and its feeds' front doors.
async function crawl(request: APIRequestContext, base: string): Promise<Map<string, { status: number; html: string }>> {
  const seen = new Map<string, { status: number; html: string }>()
  const queue = ['/', '/wiki/', '/writing/', '/tags/']
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (seen.has(path)) continue
    const answer = await request.get(base + path)
    const isPage = (answer.headers()['content-type'] ?? '').startsWith('text/html')
    const html = isPage ? await answer.text() : ''
    seen.set(path, { status: answer.status(), html })
    for (const [, address] of html.matchAll(/\s(?:href|src)="(\/[^"#]*)/g)) queue.push(address.replaceAll('&amp;', '&'))
  }
  return seen
}
