import { expect, inspect, test, watched, type Page } from '../harness/test.ts'
import { crc32, zip } from '../harness/zip.ts'

const saved = 'Saved, and search finds it as it is now.'

// write fills the form of a new note and saves it.
async function write(page: Page, note: { genre?: string; title: string; body?: string; parent?: string; publish?: boolean }): Promise<void> {
  await page.goto(`/admin/notes/new?genre=${note.genre ?? 'wiki'}`)
  await page.getByLabel('Title').fill(note.title)
  await page.getByLabel('Text', { exact: true }).fill(note.body ?? '')
  if (note.parent !== undefined) await page.getByLabel('Below').fill(note.parent)
  if (note.publish) await page.getByLabel('Publish at once').check()
  await page.getByRole('button', { name: 'Create note' }).click()
  await expect(page.getByRole('status').filter({ hasText: saved })).toBeVisible()
}

async function finds(page: Page, words: string, title: string): Promise<void> {
  await page.goto(`/search?q=${encodeURIComponent(words)}`)
  await expect(page.getByRole('link', { name: title, exact: true })).toBeVisible()
}

async function findsNothing(page: Page, words: string): Promise<void> {
  await page.goto(`/search?q=${encodeURIComponent(words)}`)
  await expect(page.getByRole('heading', { name: /^Nothing found/ })).toBeVisible()
}

// open goes to the editor of a note by its title.
async function open(page: Page, title: string): Promise<void> {
  await page.goto(`/admin/notes?text=${encodeURIComponent(title)}`)
  await page.getByRole('rowheader').getByRole('link', { name: title, exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
}

test.describe.serial('a note', () => {
  test('is written, published, and found by a visitor at once', async ({ page, ownerPage }) => {
    await ownerPage.goto('/admin/notes')
    await inspect(ownerPage, 'notes-empty')
    await write(ownerPage, { title: 'Rain barrel', body: 'A barrel keeps **rainwater** for dry weeks.', publish: true })
    await inspect(ownerPage, 'note-saved')
    await finds(page, 'rainwater', 'Rain barrel')
    await page.getByRole('link', { name: 'Rain barrel' }).click()
    await expect(page.locator('strong')).toHaveText('rainwater')
    await expect(page).toHaveURL(/\/wiki\/rain-barrel/)
  })

  test('shows a preview while it is typed, and suggests what to link to', async ({ ownerPage }) => {
    await ownerPage.goto('/admin/notes/new')
    await ownerPage.getByLabel('Text', { exact: true }).pressSequentially('See [[Rain barrel]].')
    await expect(ownerPage.locator('#preview').getByRole('link', { name: 'Rain barrel' })).toHaveAttribute('href', '/wiki/rain-barrel')
    await ownerPage.getByLabel('Find a note to link to').pressSequentially('barr')
    await expect(ownerPage.locator('#suggestions')).toContainText('[[Rain barrel]]')
    await inspect(ownerPage, 'note-new-preview')
  })

  test('changes for visitors and for search as soon as it is saved', async ({ page, ownerPage }) => {
    await open(ownerPage, 'Rain barrel')
    await ownerPage.getByLabel('Text', { exact: true }).fill('It is a cistern now.')
    await ownerPage.getByRole('button', { name: 'Save', exact: true }).click()
    await expect(ownerPage.getByText(saved)).toBeVisible()
    await finds(page, 'cistern', 'Rain barrel')
    await findsNothing(page, 'rainwater')
  })

  test('keeps both texts when it has changed meanwhile', async ({ ownerPage }) => {
    await open(ownerPage, 'Rain barrel')
    const address = ownerPage.url()
    const other = await ownerPage.context().newPage()
    await other.goto(address)
    await other.getByLabel('Text', { exact: true }).fill('Written in the other tab: cistern.')
    await other.getByRole('button', { name: 'Save', exact: true }).click()
    await expect(other.getByText(saved)).toBeVisible()
    await other.close()
    await ownerPage.getByLabel('Text', { exact: true }).fill('Written in this tab: cistern.')
    await ownerPage.getByRole('button', { name: 'Save', exact: true }).click()
    await expect(ownerPage.getByText('This note has changed since you opened it')).toBeVisible()
    await expect(ownerPage.getByLabel('stored text')).toHaveText('Written in the other tab: cistern.')
    await expect(ownerPage.getByLabel('Text', { exact: true })).toHaveValue('Written in this tab: cistern.')
    await inspect(ownerPage, 'note-conflict')
    await ownerPage.getByRole('button', { name: 'Save mine over it' }).click()
    await expect(ownerPage.getByText(saved)).toBeVisible()
  })

  test('says at the field what is wrong, with the text as it was typed', async ({ ownerPage }) => {
    await ownerPage.goto('/admin/notes/new')
    await ownerPage.getByLabel('Title').fill('Rain Barrel!')
    await ownerPage.getByLabel('Text', { exact: true }).fill('kept as typed')
    await ownerPage.getByRole('button', { name: 'Create note' }).click()
    await expect(ownerPage.getByText('Nothing was saved yet')).toBeVisible()
    await expect(ownerPage.getByLabel('Title')).toHaveAttribute('aria-invalid', 'true')
    await expect(ownerPage.getByLabel('Text', { exact: true })).toHaveValue('kept as typed')
    await inspect(ownerPage, 'note-refused')
  })

  test('is gone for visitors at once when it is taken back, and back when it is published', async ({ page, ownerPage }) => {
    await page.goto('/wiki/rain-barrel')
    await open(ownerPage, 'Rain barrel')
    await ownerPage.getByRole('button', { name: 'Unpublish' }).click()
    await expect(ownerPage.getByText('Taken back.')).toBeVisible()
    expect((await page.reload())?.status()).toBe(404)
    await findsNothing(page, 'cistern')
    await ownerPage.getByRole('button', { name: 'Publish', exact: true }).click()
    await expect(ownerPage.getByText('Visitors can read it now.')).toBeVisible()
    expect((await page.goto('/wiki/rain-barrel'))?.status()).toBe(200)
  })

  test('moves with what is below it, and its old address leads to the new one', async ({ page, ownerPage }) => {
    await write(ownerPage, { title: 'Garden', publish: true })
    await write(ownerPage, { title: 'Tap', parent: 'rain-barrel', publish: true })
    await open(ownerPage, 'Rain barrel')
    await ownerPage.getByRole('link', { name: 'Move' }).click()
    await expect(ownerPage.getByLabel('Below')).toBeVisible()
    await ownerPage.getByLabel('Below').fill('garden')
    await ownerPage.getByRole('button', { name: 'Move' }).click()
    await expect(ownerPage.getByText('Old addresses lead to the new ones.')).toBeVisible()
    await page.goto('/wiki/rain-barrel/tap')
    await expect(page).toHaveURL(/\/wiki\/garden\/rain-barrel\/tap$/)
    await ownerPage.goto('/admin/notes/tree')
    await expect(ownerPage.getByRole('link', { name: 'Tap' })).toBeVisible()
  })

  test('goes to the trash with its children after a question, and comes back whole', async ({ page, ownerPage }) => {
    await open(ownerPage, 'Garden')
    await ownerPage.getByRole('link', { name: 'Delete…' }).click()
    await expect(ownerPage.getByRole('button', { name: 'Delete 3 notes' })).toBeVisible()
    await ownerPage.getByRole('button', { name: 'Delete 3 notes' }).click()
    await expect(ownerPage.getByText('3 notes went to the trash.')).toBeVisible()
    expect((await page.goto('/wiki/garden/rain-barrel'))?.status()).toBe(404)
    await findsNothing(page, 'cistern')
    await ownerPage.getByRole('link', { name: 'Open the trash' }).click()
    await expect(ownerPage.getByRole('button', { name: 'Restore' })).toBeVisible()
    await ownerPage.getByRole('button', { name: 'Restore' }).click()
    await expect(ownerPage.getByText('3 notes are back.')).toBeVisible()
    expect((await page.goto('/wiki/garden/rain-barrel/tap'))?.status()).toBe(200)
  })

  test('of the inbox is promoted to the wiki, private', async ({ page, ownerPage }) => {
    await write(ownerPage, { genre: 'raw', title: 'A thought about mulch' })
    await ownerPage.getByRole('link', { name: 'Promote to the wiki' }).click()
    await ownerPage.getByLabel('Below').fill('garden')
    await ownerPage.getByRole('button', { name: 'Promote to the wiki' }).click()
    await expect(ownerPage.getByText('in the wiki now, private as it was')).toBeVisible()
    expect((await page.goto('/wiki/garden/a-thought-about-mulch'))?.status()).toBe(404)
  })

  test('is published from the list together with others', async ({ page, ownerPage }) => {
    await write(ownerPage, { genre: 'writing', title: 'First frost', body: 'cold' })
    await ownerPage.goto('/admin/notes?state=private')
    await ownerPage.getByLabel('Select A thought about mulch').check()
    await ownerPage.getByLabel('Select First frost').check()
    await inspect(ownerPage, 'notes-selected')
    await ownerPage.getByRole('button', { name: 'Publish', exact: true }).click()
    await expect(ownerPage.getByText('Published 2 notes.')).toBeVisible()
    await expect(ownerPage).toHaveURL(/state=private/)
    await page.goto('/writing/')
    await expect(page.getByRole('link', { name: 'First frost' })).toBeVisible()
  })

  test('is found after the server was killed right behind its saving', async ({ page, ownerPage, server }) => {
    await ownerPage.goto('/admin/notes/new')
    await ownerPage.getByLabel('Title').fill('Last words')
    await ownerPage.getByLabel('Text', { exact: true }).fill('thunderclap')
    await ownerPage.getByLabel('Publish at once').check()
    watched(ownerPage).allow(/Failed to load resource|ERR_|EventSource|events/)
    await ownerPage.getByRole('button', { name: 'Create note' }).click({ noWaitAfter: true })
    await expect.poll(async () => (await server.database.query(`select 1 from notes where title = 'Last words'`)).length).toBe(1)
    await server.kill()
    await server.again()
    await expect(async () => finds(page, 'thunderclap', 'Last words')).toPass({ timeout: 60_000 })
    await ownerPage.goto('/admin/notes')
  })
})

test('a vault comes in as a zip, and every file is accounted for', async ({ page, ownerPage }) => {
  const files = {
    'Compost.md': '---\npublish: true\n---\nWarm heaps. See [[Worms]].',
    'Worms.md': '---\npublish: false\n---\nSecret worms.',
    'Broken.md': '---\npublish: [true\n---\ntext',
    '.obsidian/app.json': '{}',
    'tool.exe': 'MZ',
  }
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926)
  await ownerPage.goto('/admin/notes/import')
  await ownerPage.getByLabel('Zip file').setInputFiles({ name: 'Heap notes.zip', mimeType: 'application/zip', buffer: zip(files) })
  await ownerPage.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(ownerPage.getByRole('heading', { name: 'Heap notes' })).toBeVisible()
  await expect(ownerPage.locator('#import-state').getByText('completed')).toBeVisible({ timeout: 60_000 })
  // What needs a look comes first: a note whose front matter cannot be read is private, whatever it was meant to be.
  await expect(ownerPage.getByRole('link', { name: /^Needs a look/ })).toHaveAttribute('aria-current', 'page')
  await expect(ownerPage.getByRole('row', { name: /^Broken\.md/ })).toContainText('private')
  await expect(ownerPage.getByRole('row', { name: /^Compost\.md/ })).toHaveCount(0)
  await inspect(ownerPage, 'import-report')
  await ownerPage.getByRole('link', { name: /^All/ }).click()
  for (const path of Object.keys(files)) await expect(ownerPage.locator('#import-state')).toContainText(path.split('/')[0])
  await ownerPage.getByRole('link', { name: /^Skipped/ }).click()
  await expect(ownerPage.getByRole('cell', { name: 'skipped' }).first()).toBeVisible()
  expect((await page.goto('/wiki/compost'))?.status()).toBe(200)
  await expect(page.locator('.prose')).not.toContainText('Worms')
  expect((await page.goto('/wiki/worms'))?.status()).toBe(404)

  await ownerPage.goto('/admin/notes/import')
  await ownerPage.getByLabel('Zip file').setInputFiles({ name: 'no.zip', mimeType: 'application/zip', buffer: Buffer.from('not a zip') })
  await ownerPage.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(ownerPage.getByText('cannot be read')).toBeVisible()
  await inspect(ownerPage, 'import-refused')
})
