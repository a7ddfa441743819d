import axe from 'axe-core'
import type { Page } from '@playwright/test'

// target-size is the one rule of WCAG 2.2 AA that axe leaves off unless asked; what passes need not be collected.
const options: axe.RunOptions = { rules: { 'target-size': { enabled: true } }, resultTypes: ['violations'] }

// violations lists what axe finds on the page, each with the rule, the element and how to mend it. No page of ours has
// frames, so axe is put into the page itself and once a page: collecting from frames takes a blank page and six times as long.
export async function violations(page: Page): Promise<string[]> {
  // What has been scrolled halfway under a bar that stays is no smaller for it.
  await page.evaluate(() => scrollTo(0, 0))
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  const found = await page.evaluate(async (how) => (await (window as unknown as { axe: typeof axe }).axe.run(document, how)).violations, options)
  return found.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.target.join(' ')}: ${node.failureSummary?.replaceAll(/\s+/g, ' ')}`),
  )
}
