import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { clusterURL } from './database.ts'
import { artifacts, mockStackBinary, root } from './paths.ts'

// Runs once before all specs: builds what they test, and clears what the last run left.
export default function build(): void {
  clusterURL()
  rmSync(join(artifacts, 'screenshots'), { recursive: true, force: true })
  rmSync(join(artifacts, 'logs'), { recursive: true, force: true })
  mkdirSync(artifacts, { recursive: true })
  execFileSync('make', ['--no-print-directory', 'build'], { cwd: root, stdio: 'inherit' })
  execFileSync('go', ['build', '-trimpath', '-o', mockStackBinary, './mock-stack'], { cwd: root, stdio: 'inherit' })
}
