// The build refuses a component that is not what the sources were written for. It runs in a copy of the package.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { fileURLToPath } from 'node:url'

const here = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const component = (name) => here(`../build/${name}.wasm`)

const checkout = mkdtempSync(join(tmpdir(), 'loop-guard-build-'))
after(() => rmSync(checkout, { recursive: true }))
const copy = join(checkout, 'js')
mkdirSync(copy)
for (const name of ['package.json', 'tsconfig.json', 'scripts', 'src'])
  cpSync(here(name), join(copy, name), { recursive: true })
symlinkSync(here('node_modules'), join(copy, 'node_modules'))

function run(...command) {
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: copy, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

/** Builds the copy, and checks that it is refused. */
function refused(file, message) {
  assert.deepEqual(run('scripts/build.mjs', file), { status: 1, output: `error: ${message}\n` })
}

function written(content) {
  const file = join(checkout, 'given.wasm')
  writeFileSync(file, content)
  return file
}

test('a component of another version of the contract is refused by name', () => {
  refused(
    component('other-version'),
    'expected a component that exports loop-guard:plugin/guard@0.1.0 and loop-guard:plugin/introspection@0.1.0 and loop-guard:plugin/resume@0.1.0, but this one exports loop-guard:plugin/guard@0.2.0, loop-guard:plugin/introspection@0.2.0, loop-guard:plugin/resume@0.2.0',
  )
})

test('a component that imports something is refused', () => {
  refused(component('importing'), 'a guard imports nothing, but this component imports wasi:io/error@0.2.0')
})

test('what is no component is refused', () => {
  const core = here('build/loop-guard.core.wasm')
  refused(core, 'not a WebAssembly component, but a core module; wrap it with `wasm-tools component new` first')
  refused(written(''), 'not a WebAssembly component, but empty')
  const other = 'not a WebAssembly component, but something else: it does not begin with the bytes of WebAssembly'
  refused(written('hello, world'), other)
  refused(written('\0asm'), other)
  const { status, output } = run('scripts/build.mjs', written(readFileSync(component('loop-guard')).subarray(0, 3000)))
  assert.equal(status, 1)
  assert.match(output, /^error: the component does not compile: /)
})

test('a component that is missing is named, with what makes it', () => {
  const file = join(copy, '../build/loop-guard.wasm')
  refused(file, `cannot read ${file}: ENOENT; run \`make component\` in the checkout first`)
  const standard = run('scripts/build.mjs')
  assert.deepEqual(standard, {
    status: 1,
    output: `error: cannot read ${file}: ENOENT; run \`make component\` in the checkout first\n`,
  })
})

test('a component with the same names and other types does not compile', () => {
  const { status, output } = run('scripts/build.mjs', component('other-types'))
  assert.notEqual(status, 0)
  assert.match(output, /src\/contract\.ts/)
})

test('the component that the sources were written for compiles', () => {
  assert.deepEqual(run('scripts/build.mjs', component('loop-guard')), { status: 0, output: '' })
  assert.ok(existsSync(join(copy, 'dist/dsh/tool-call-limit.d.ts')))
})

const hooks = join(copy, 'build/interfaces/loop-guard-plugin-guard.d.ts')

for (const [change, from, to] of [
  ['a record has another field', 'summary: string,', 'summary: string,\n  weight: number,'],
  ['a record has another optional field', 'content?: string,', 'content?: string,\n  hint?: string,'],
  ['a record has a field less', '  text: string,\n', ''],
  ['a field has another type', 'prompted: boolean,', 'prompted: string,'],
  ['a variant has another case', "tag: 'ask',", "tag: 'ask' | 'delay',"],
  ['an enum has another case', "'failed' | 'denied'", "'failed' | 'denied' | 'cancelled'"],
  [
    'a function takes something else',
    'turnEnded(agent: string, turn: number)',
    'turnEnded(agent: string, turn: number, why: string)',
  ],
  [
    'a function answers something else',
    'preExecute(call: ToolCall): Decision',
    'preExecute(call: ToolCall): Decision | undefined',
  ],
  ['a function is gone', 'export function agentEnded(agent: string): void;', ''],
]) {
  test(`when the contract changes and the sources do not, they do not compile: ${change}`, () => {
    const types = readFileSync(hooks, 'utf8')
    assert.equal(types.split(from).length, 2, `${from} is not there once`)
    writeFileSync(hooks, types.replace(from, to))
    const { status, output } = run('node_modules/typescript/bin/tsc', '--noEmit')
    writeFileSync(hooks, types)
    assert.notEqual(status, 0)
    assert.match(output, /src\/(contract|guard)\.ts/)
  })
}

test('when the contract gets another function, the sources do not compile', () => {
  appendFileSync(hooks, 'export function noted(agent: string): void;\n')
  const { status, output } = run('node_modules/typescript/bin/tsc', '--noEmit')
  assert.notEqual(status, 0)
  assert.match(output, /src\/contract\.ts/)
})
