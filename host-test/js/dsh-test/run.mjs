// Runs the tests under a Node that DeepSeek Harness supports: this one, or the one that came with the packages.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'

const REQUIRED = [22, 19]

function recentNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > REQUIRED[0] || (major === REQUIRED[0] && minor >= REQUIRED[1])) return process.execPath
  const name = `node-${process.platform}-${process.arch}`
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/node`)
  } catch {
    console.error(
      `error: DeepSeek Harness needs Node ${REQUIRED.join('.')} or newer, this is ${process.versions.node}, and the package ${name} is not installed: run the tests with a newer Node`,
    )
    process.exit(1)
  }
}

const tests = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.test.mjs'))
const options = ['--test', '--test-reporter=tap', ...tests]
process.exit(spawnSync(recentNode(), options, { stdio: 'inherit', cwd: new URL('.', import.meta.url) }).status ?? 1)
