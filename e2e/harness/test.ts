import { basename } from 'node:path'
import { test as base, expect, type APIRequestContext, type Page } from '@playwright/test'
import { MockStack } from './mockstack.ts'
import { asOwner } from './owner.ts'
import { Gatehouse, type Environment } from './server.ts'
import { Watch } from './watch.ts'

export { expect } from '@playwright/test'
export { watched } from './watch.ts'
export { inspect } from './inspect.ts'
export { setUp, signIn } from './owner.ts'
export type { Page } from '@playwright/test'

// Further environment of a file's server, given or worked out from the addresses of the fakes.
type ServerEnvironment = Environment | ((mockStack: MockStack) => Environment)

type Fixtures = {
  // Set with test.use at the top of a file, for the whole file.
  environment: { of: ServerEnvironment }
  // The file's server: fresh database, started at its first test, shared by the tests of the file.
  server: Gatehouse
  // The file's fakes of the outside world.
  mockStack: MockStack
  // A visitor's page and the signed-in owner's page; both are watched, see watch.ts.
  page: Page
  ownerPage: Page
  // Calls POST /api/admin/<operation> with the owner's session, expects success, returns the answer.
  operation: <Answer = any>(name: string, input?: unknown) => Promise<Answer>
}

// What a worker has running. A worker runs one file at a time, so a new file ends what the one before had started.
type Running = { file: string; server?: Promise<Gatehouse>; mockStack?: Promise<MockStack> }

export const test = base.extend<Fixtures, { running: { now: Running | undefined } }>({
  running: [
    async ({}, use) => {
      const running: { now: Running | undefined } = { now: undefined }
      await use(running)
      await dispose(running.now)
    },
    { scope: 'worker' },
  ],
  environment: [{ of: {} }, { option: true }],

  server: async ({ running, environment }, use, info) => {
    const now = await runningFor(running, info.file)
    now.server ??= startServer(now, environment.of)
    await use(await now.server)
  },

  mockStack: async ({ running }, use, info) => {
    await use(await mockStackOf(await runningFor(running, info.file)))
  },

  baseURL: async ({ server }, use) => {
    await use(server.url)
  },

  page: async ({ context }, use) => {
    await useWatched(await context.newPage(), use)
  },

  ownerPage: async ({ browser, server, contextOptions }, use) => {
    const context = await browser.newContext({ ...contextOptions, baseURL: server.url, storageState: await asOwner(browser, server) })
    await useWatched(await context.newPage(), use)
    await context.close()
  },

  operation: async ({ browser, server, playwright }, use) => {
    const session = await asOwner(browser, server)
    const request = await playwright.request.newContext({ baseURL: server.url, storageState: session })
    await use((name, input = {}) => callOperation(request, name, input))
    await request.dispose()
  },
})

async function callOperation(request: APIRequestContext, name: string, input: unknown): Promise<any> {
  const answer = await request.post(`/api/admin/${name}`, { data: input as object })
  expect(answer.ok(), `${name}: ${answer.status()} ${await answer.text()}`).toBe(true)
  return answer.json()
}

async function useWatched(page: Page, use: (page: Page) => Promise<void>): Promise<void> {
  const watch = await Watch.on(page)
  await use(page)
  await watch.verdict()
}

async function startServer(now: Running, environment: ServerEnvironment): Promise<Gatehouse> {
  const settings = typeof environment === 'function' ? environment(await mockStackOf(now)) : environment
  return Gatehouse.start(nameOf(now.file), settings)
}

function mockStackOf(now: Running): Promise<MockStack> {
  now.mockStack ??= MockStack.start(nameOf(now.file))
  return now.mockStack
}

function nameOf(file: string): string {
  return basename(file, '.spec.ts')
}

async function runningFor(running: { now: Running | undefined }, file: string): Promise<Running> {
  if (running.now?.file !== file) {
    await dispose(running.now)
    running.now = { file }
  }
  return running.now!
}

async function dispose(running: Running | undefined): Promise<void> {
  await Promise.all([running?.server, running?.mockStack].map(async (started) => (await started?.catch(() => undefined))?.dispose()))
}
