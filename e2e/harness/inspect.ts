import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import { violations } from './accessible.ts'
import { artifacts } from './paths.ts'

const widths = { wide: 1280, narrow: 320 }

// inspect looks at the page as it stands in light and dark, wide and at 320 px: no accessibility violation, nothing
// that scrolls sideways; a screenshot of each is kept under e2e/artifacts/screenshots/<name>-….png.
export async function inspect(page: Page, name: string): Promise<void> {
  const before = page.viewportSize()
  await page.evaluate(() => scrollTo(0, 0))
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const [label, width] of Object.entries(widths)) {
      await page.setViewportSize({ width, height: 800 })
      const shot = `${name}-${colorScheme}-${label}`
      await page.screenshot({ path: join(artifacts, 'screenshots', `${shot}.png`), fullPage: true })
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      expect(overflow, `${shot}: pixels to scroll sideways`).toBeLessThanOrEqual(0)
      expect(await violations(page), `${shot}: axe`).toEqual([])
    }
  }
  await page.emulateMedia({ colorScheme: null })
  if (before) await page.setViewportSize(before)
}
