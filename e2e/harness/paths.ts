import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const artifacts = join(root, 'e2e', 'artifacts')
export const serverBinary = join(root, 'bin', 'gatehouse')
export const mockStackBinary = join(root, 'bin', 'mock-stack')
