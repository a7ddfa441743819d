import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'specs',
  outputDir: 'test-results',
  globalSetup: './harness/build.ts',
  workers: 2,
  // A file is a story on one server; its tests run in order.
  fullyParallel: false,
  // A test that passes the second time has found something.
  retries: 0,
  forbidOnly: !!process.env.CI,
  timeout: 120_000,
  expect: { timeout: 15_000 },
  reporter: [['list'], ['json', { outputFile: 'artifacts/results.json' }]],
  use: {
    browserName: 'chromium',
    // Colours in mid-transition are no colours to measure contrast on.
    contextOptions: { reducedMotion: 'reduce' },
    locale: 'en-GB',
    timezoneId: 'UTC',
    actionTimeout: 15_000,
    navigationTimeout: 30_000,
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: chromium(),
      // Chromium refuses its sandbox to root, and only to root is it denied here.
      chromiumSandbox: process.getuid?.() !== 0,
    },
  },
})

// chromium finds the system's browser; the library's own is never downloaded.
function chromium(): string {
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  for (const folder of (process.env.PATH ?? '').split(delimiter).concat('/usr/bin')) {
    for (const name of names) {
      try {
        accessSync(join(folder, name), constants.X_OK)
        return join(folder, name)
      } catch {
        // Not in this folder.
      }
    }
  }
  throw new Error('Chromium was not found in PATH; on Debian: apt-get install chromium')
}
