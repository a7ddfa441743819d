// Prints "passed failed skipped" from Playwright's JSON report, for scripts/check.sh.
import { readFileSync } from 'node:fs'

const { stats, errors } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
console.log(stats.expected, stats.unexpected + stats.flaky + errors.length, stats.skipped)
