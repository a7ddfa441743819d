import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from '@playwright/test'

// violations lists what axe finds on the page, each with the rule, the element and how to mend it.
export async function violations(page: Page): Promise<string[]> {
  const result = await new AxeBuilder({ page })
    // target-size is the one rule of WCAG 2.2 AA that axe leaves off unless asked; what passes need not be collected.
    .options({ rules: { 'target-size': { enabled: true } }, resultTypes: ['violations'] })
    .analyze()
  return result.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.target.join(' ')}: ${node.failureSummary?.replaceAll(/\s+/g, ' ')}`),
  )
}
