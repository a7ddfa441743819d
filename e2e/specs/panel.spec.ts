import { expect, inspect, test } from '../harness/test.ts'

test.describe.serial('the panel by keyboard', () => {
  test('the first stop skips to the page, and single keys lead to the sections', async ({ ownerPage: page }) => {
    await page.goto('/admin/tasks')
    await page.keyboard.press('Tab')
    await expect(page.locator(':focus')).toHaveText('Skip to the page')
    await page.keyboard.press('Enter')
    await expect(page.locator('#main')).toBeFocused()
    await page.keyboard.press('/')
    await expect(page.getByRole('searchbox')).toBeFocused()
    await page.keyboard.type('g')
    await expect(page).toHaveURL(/\/admin\/tasks/)
    await page.getByRole('searchbox').fill('')
    await page.locator('#main').focus()
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Periodic')
    await page.keyboard.press('?')
    await expect(page.getByRole('dialog')).toBeVisible()
    await inspect(page, 'shortcuts')
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toBeHidden()
  })

  test('a row is chosen and acted on without a mouse', async ({ ownerPage: page, operation, server }) => {
    await server.database.query(`alter table search_documents rename to search_documents_elsewhere`)
    const { index_job_id: id } = await operation('corpus.create', { genre: 'wiki', title: 'Alder', body: 'Wet feet.', published: true })
    await expect(async () => {
      const later = `update river.river_job set scheduled_at = now() + interval '1 hour' where id = $1 and state = 'retryable' returning id`
      expect(await server.database.query(later, [id])).toHaveLength(1)
    }).toPass({ timeout: 20_000, intervals: [100] })
    await server.database.query(`alter table search_documents_elsewhere rename to search_documents`)
    await page.goto('/admin/tasks?state=retryable')
    await page.getByRole('checkbox', { name: `Select task ${id}` }).focus()
    await page.keyboard.press('Space')
    await expect(page.getByText('1 selected')).toBeVisible()
    await page.getByRole('button', { name: 'Cancel', exact: true }).focus()
    await page.keyboard.press('Enter')
    await expect(page.getByText('The task is cancelled')).toBeVisible()
    await expect(page).toHaveURL(/state=retryable/)
  })
})
