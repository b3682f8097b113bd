// Builds the page: the readers and the guard as JavaScript and wasm, and everything in one HTML file.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { componentNew, transpile } from '@bytecodealliance/jco'
import { build } from 'esbuild'
import { parse } from 'yaml'
import { keepEveryCharacter } from '../js/scripts/transpile.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

/** Makes JavaScript of the core module of the readers, and the types of its WIT. */
async function transpileReaders() {
  const core = here('../build/readers.wasm')
  const component = await componentNew(readFileSync(core))
  const { files } = await transpile(component, { name: 'readers', instantiation: 'sync' })
  for (const [name, content] of Object.entries(files)) {
    const path = here(`build/${name}`)
    mkdirSync(new URL('.', `file://${path}`), { recursive: true })
    writeFileSync(path, name.endsWith('.js') ? keepEveryCharacter(content) : content)
  }
}

/** Bundles YAML as the value that it holds. */
const yaml = {
  name: 'yaml',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.yaml$/ }, ({ path }) => ({
      contents: JSON.stringify(parse(readFileSync(path, 'utf8'))),
      loader: 'json',
    })),
}

/** The script and the style of the page. */
async function bundle() {
  const { outputFiles } = await build({
    entryPoints: [here('page/main.tsx')],
    outdir: here('dist'),
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'inline',
    // Names of characters, and bytes, are written so that no encoding can spoil them.
    charset: 'ascii',
    loader: { '.wasm': 'binary', '.jsonl': 'binary' },
    plugins: [yaml],
  })
  const text = (extension) => outputFiles.find(({ path }) => path.endsWith(extension)).text
  return { script: text('.js'), style: text('.css') }
}

await transpileReaders()
const { script, style } = await bundle()
// Functions, since `$` means something in a replacement that is text.
const page = readFileSync(here('page/index.html'), 'utf8')
  .replace('/* style */', () => style)
  .replace('/* script */', () => script)
mkdirSync(here('dist'), { recursive: true })
writeFileSync(here('dist/loop-guard.html'), page)
console.log(`dist/loop-guard.html: ${Math.round(Buffer.byteLength(page) / 1024)} KB`)
