// Makes JavaScript of a component that implements the contract, and refuses any other.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { componentWit, transpile as jco } from '@bytecodealliance/jco'
import { boundMemory } from './memory.mjs'

/** The interfaces that a component must export: this version of the contract. */
const CONTRACT = ['guard', 'introspection', 'resume'].map((name) => `loop-guard:plugin/${name}@0.1.0`)

/**
 * The most memory that an instance can get, in bytes. It lies somewhat above the default of `Limits.memory`, so that an
 * instance that asked for ever more can be told from one that trapped for another reason.
 */
const MEMORY = (1 << 30) + (64 << 20)

/**
 * Writes `loop-guard.js`, its types and its core module into a folder, which is emptied first.
 *
 * @throws {Error} if the file cannot be read or is no component that implements the contract.
 */
export async function transpile(file, folder) {
  const bytes = read(file)
  checkKind(bytes)
  await checkContract(bytes)
  const { files } = await jco(bytes, { name: 'loop-guard', instantiation: 'sync' })
  rmSync(folder, { recursive: true, force: true })
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, adapt(name, content))
  }
}

function read(file) {
  try {
    return readFileSync(file)
  } catch (error) {
    const hint = error.code === 'ENOENT' ? '; run `make component` in the checkout first' : ''
    throw new Error(`cannot read ${file}: ${error.code ?? error.message}${hint}`)
  }
}

/** The first eight bytes tell a component from a core module. */
function checkKind(bytes) {
  const kind = bytes.length >= 8 && bytes.readUInt32BE(0) === 0x0061736d ? bytes.readUInt16LE(6) : undefined
  if (kind === 1) return
  const found =
    bytes.length === 0
      ? 'empty'
      : kind === 0
        ? 'a core module; wrap it with `wasm-tools component new` first'
        : 'something else: it does not begin with the bytes of WebAssembly'
  throw new Error(`not a WebAssembly component, but ${found}`)
}

async function checkContract(bytes) {
  let wit
  try {
    wit = await componentWit(bytes)
  } catch (error) {
    throw new Error(`the component does not compile: ${error.message}`)
  }
  const named = (direction) => [...wit.matchAll(RegExp(`^  ${direction} ([^;]+);$`, 'gm'))].map(([, name]) => name)
  const imports = named('import')
  if (imports.length > 0) {
    throw new Error(`a guard imports nothing, but this component imports ${imports.join(', ')}`)
  }
  const exports = named('export')
  if (!CONTRACT.every((name) => exports.includes(name))) {
    const found = exports.length > 0 ? exports.join(', ') : 'nothing'
    throw new Error(`expected a component that exports ${CONTRACT.join(' and ')}, but this one exports ${found}`)
  }
}

/** Mends what jco generates, where a guard needs it otherwise. */
function adapt(name, content) {
  if (name.endsWith('.wasm')) return boundMemory(content, MEMORY)
  return name.endsWith('.js') ? keepEveryCharacter(content) : content
}

/** By default a decoder drops U+FEFF at the beginning of a text: of a tool's name in a summary, for instance. */
export function keepEveryCharacter(script) {
  const decoder = "new TextDecoder('utf-8', { ignoreBOM: true })"
  return new TextDecoder().decode(script).replaceAll('new TextDecoder()', decoder)
}
