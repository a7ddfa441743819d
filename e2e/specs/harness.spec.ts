import { expect, test } from '../harness/test.ts'
import { violations } from '../harness/accessible.ts'

// What finds nothing anywhere must be known to find something.
test('what the accessibility rules are there to see, they see, in both themes and at both widths', async ({ page }) => {
  await page.goto('/login')
  expect(await violations(page)).toEqual([])
  await page.evaluate(() => {
    document.querySelector('label')!.remove()
    document.querySelector('h1')!.style.color = '#777'
    document.querySelector('h1')!.style.background = '#888'
    document.querySelector('button')!.insertAdjacentHTML('afterend', '<button type="button" class="icon-button"></button>')
  })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 800 })
      const rules = (await violations(page)).map((violation) => violation.split(':')[0])
      for (const rule of ['button-name', 'color-contrast', 'label']) expect(rules, `${colorScheme} at ${width}`).toContain(rule)
    }
  }
  await page.goto('/login')
})
