import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

// violations lists what axe finds on the page, each with the rule, the element and how to mend it.
export async function violations(page: Page): Promise<string[]> {
  const result = await new AxeBuilder({ page })
    // The one rule of WCAG 2.2 AA that axe leaves off unless asked.
    .options({ rules: { 'target-size': { enabled: true } } })
    .analyze()
  return result.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.target.join(' ')}: ${node.failureSummary?.replaceAll(/\s+/g, ' ')}`),
  )
}
