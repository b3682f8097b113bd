// Builds the package: `npm run build [-- COMPONENT]` makes JavaScript of the component, then of the TypeScript sources,
// which are compiled against the types of that component's contract.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transpile } from './transpile.mjs'

const folder = (path) => fileURLToPath(new URL(path, import.meta.url))

try {
  await transpile(process.argv[2] ?? folder('../../build/loop-guard.wasm'), folder('../build'))
} catch (error) {
  console.error(`error: ${error.message}`)
  process.exit(1)
}
rmSync(folder('../dist'), { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
process.exit(spawnSync(process.execPath, [compiler, '--project', folder('..')], { stdio: 'inherit' }).status ?? 1)
