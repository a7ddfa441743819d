import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect, test } from '../harness/test.ts'

type Operation = { operationId: string; 'x-class': string; requestBody: Body; responses: { 200: Body } }
type Body = { content: { 'application/json': { schema: any } } }

test('the OpenAPI document is one, and what it promises is kept', async ({ operation, server, mockStack }) => {
  const { secret } = await operation('tokens.issue', { name: 'api', classes: ['read'] })
  const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' }
  expect((await fetch(`${server.url}/api/openapi.json`)).status).toBe(401)
  const answer = await fetch(`${server.url}/api/openapi.json`, { headers })
  const document: any = await answer.json()

  // The official schema of OpenAPI 3.1.
  const validator = new Validator()
  const verdict = await validator.validate(document)
  expect(verdict.errors ?? []).toEqual([])
  expect(validator.version).toBe('3.1')

  // Something to answer with.
  await operation('corpus.create', { genre: 'wiki', title: 'Rhubarb', body: 'Sour.', published: true })
  await operation('webhooks.create', { url: mockStack.hook('garden'), description: 'Garden', event_types: ['corpus.**'] })

  const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true })
  ;(formats as any)(ajv)
  const operations = Object.entries<{ post: Operation }>(document.paths)
  expect(operations.length).toBeGreaterThan(30)
  let answered = 0
  for (const [path, { post }] of operations) {
    const takes = ajv.compile(post.requestBody.content['application/json'].schema)
    const gives = ajv.compile(post.responses[200].content['application/json'].schema)
    if (post['x-class'] !== 'read' || !takes({})) continue
    const response = await fetch(server.url + path, { method: 'POST', headers, body: '{}' })
    expect(response.status, path).toBe(200)
    gives(await response.json())
    expect(gives.errors ?? [], path).toEqual([])
    answered++
  }
  expect(answered).toBeGreaterThan(8)

  const problem = await fetch(`${server.url}/api/admin/tasks.list`, { method: 'POST', headers, body: '{"limit":"many"}' })
  expect(problem.headers.get('content-type')).toBe('application/problem+json')
  const problems = ajv.compile(document.components.schemas.Problem)
  problems(await problem.json())
  expect(problems.errors ?? []).toEqual([])
})
