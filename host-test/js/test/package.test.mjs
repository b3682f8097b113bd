// The package as it is published: what it holds, and that the examples of its README work where it is installed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { fileURLToPath } from 'node:url'

const folder = mkdtempSync(join(tmpdir(), 'loop-guard-package-'))
after(() => rmSync(folder, { recursive: true }))

function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout
}

const home = fileURLToPath(new URL('..', import.meta.url))
const [packed] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], home))
writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
run('npm', ['install', '--offline', '--no-audit', '--ignore-scripts', join(folder, packed.filename)], folder)

test('the package holds what runs, its types and its papers, and nothing else', () => {
  const pair = (name) => [`${name}.d.ts`, `${name}.js`]
  assert.deepEqual(
    packed.files.map(({ path }) => path).sort(),
    [
      'LICENSE',
      'README.md',
      'build/interfaces/loop-guard-plugin-guard.d.ts',
      'build/interfaces/loop-guard-plugin-introspection.d.ts',
      'build/interfaces/loop-guard-plugin-resume.d.ts',
      'build/loop-guard.core.wasm',
      ...pair('build/loop-guard'),
      ...[
        'contract',
        'core',
        'dsh/repeat-tool-reminder',
        'dsh/shared',
        'dsh/tool-call-limit',
        'errors',
        'guard',
        'index',
        'json',
        'public',
      ].flatMap((name) => pair(`dist/${name}`)),
      'package.json',
    ].sort(),
  )
  assert.deepEqual(
    readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['loop-guard'],
  )
})

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const examples = [...readme.matchAll(/^```js\n([\s\S]*?)^```\n\nprints\n\n```text\n([\s\S]*?)^```/gm)]

test('every example in JavaScript says what it prints', () => {
  assert.equal(examples.length, 5)
  assert.equal(readme.match(/^```js$/gm).length, examples.length)
})

for (const [index, [, code, prints]] of examples.entries()) {
  test(`example ${index + 1} of the README prints what it says`, () => {
    const file = join(folder, `example-${index + 1}.mjs`)
    writeFileSync(file, code)
    assert.equal(run(process.execPath, [file], folder), prints)
  })
}

test('the rows for a profile patch name modules of the package', async () => {
  const names = [...readme.matchAll(/^ {2}name: (.*)$/gm)].map(([, name]) => name)
  assert.deepEqual(names, ['loop-guard/dsh/repeat-tool-reminder', 'loop-guard/dsh/tool-call-limit'])
  const file = join(folder, 'plugins.mjs')
  writeFileSync(
    file,
    names.map((name, index) => `import { name as n${index} } from '${name}'\nconsole.log(n${index})\n`).join(''),
  )
  assert.equal(run(process.execPath, [file], folder), 'repeat-tool-reminder\ntool-call-limit\n')
})
