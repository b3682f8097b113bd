// Writes a configuration as JSON text, and refuses what JSON would lose.

import type { Problem } from './contract.js'
import { ConfigurationError } from './errors.js'

/** Deeper nesting is left to the component to reject; it must only not exhaust the stack here. */
const DEPTH = 128

/**
 * The JSON text of a plain value. A string is taken for JSON text already.
 *
 * `JSON.stringify` drops members that are undefined, makes null of NaN and `{}` of a Map: a limit would be gone, and
 * nobody would know. Here each of these is a problem.
 *
 * @throws {ConfigurationError} with each value that JSON would lose, and where it is; or if a text is no Unicode, of which
 * half of a surrogate pair would become another character.
 */
export function configurationText(config: unknown): string {
  if (typeof config === 'string') {
    if (config.isWellFormed()) return config
    throw new ConfigurationError([{ path: '', message: 'the text holds half of a surrogate pair' }])
  }
  const problems: Problem[] = []
  const text = write(config, '', [], problems)
  if (problems.length > 0) throw new ConfigurationError(problems)
  return text
}

function write(value: unknown, path: string, within: object[], problems: Problem[]): string {
  const lost = (what: string): string => {
    problems.push({ path, message: `cannot be written as JSON: ${what}` })
    return ''
  }
  switch (typeof value) {
    case 'boolean':
      return String(value)
    case 'bigint':
      // Its digits, all of them: the component says whether it is too large.
      return String(value)
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : lost(String(value))
    case 'string':
      return value.isWellFormed() ? JSON.stringify(value) : lost('half of a surrogate pair')
    case 'object':
      break
    default:
      return lost(typeof value)
  }
  if (value === null) return 'null'
  if (within.includes(value)) return lost('a value that contains itself')
  if (within.length >= DEPTH) return lost(`more than ${DEPTH} levels`)
  const inside = [...within, value]
  if (Array.isArray(value)) {
    // A missing element reads as undefined.
    const elements = Array.from(value, (element, index) => write(element, `${path}/${index}`, inside, problems))
    if (Reflect.ownKeys(value).length > value.length + 1) return lost('an array with members')
    return `[${elements.join()}]`
  }
  if (!isPlain(value)) return lost(value.constructor?.name ?? 'an object that is not plain')
  const members = Reflect.ownKeys(value).map((key) => {
    if (typeof key === 'symbol') return lost(`a member named by a ${String(key)}`)
    const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return `${write(key, at, inside, problems)}:${write(Reflect.get(value, key), at, inside, problems)}`
  })
  return `{${members.join()}}`
}

/** Whether an object is what `{}` or `JSON.parse` makes, be it in another realm. */
function isPlain(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value)
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'))
}
