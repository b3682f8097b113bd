// What the plugins for DeepSeek Harness share: their configuration, and how they name agents and calls.

import { ConfigurationError, createGuard, type Guard, type ToolCall } from '../index.js'
import { configurationText } from '../json.js'

/** What the plugins use of a Cordis context. */
export interface Context {
  on(event: string, listener: (...payload: never[]) => unknown, options?: { prepend?: boolean }): unknown
  logger?: { warn(message: string): unknown }
}

/** Where a plugin writes what it could not do. */
export type Log = (what: string) => void

/** What the plugins use of a tool call. Without an agent, it was made by the host itself. */
export interface ToolExecution {
  callId: string
  name: string
  arguments: unknown
  agent?: object | undefined
}

/** What the plugins use of the proposal of a step. */
export interface Proposal {
  agent: { session?: object }
  messages: readonly { source: { kind: string } }[]
  turn: number
  step: number
}

/** The fields of a plugin's configuration, each of which may be missing. */
export interface Schema<Fields> {
  /** The configuration with its defaults filled in. @throws {ConfigurationError} */
  (raw?: unknown): Fields
  /** The same, in the shape of Standard Schema. It answers at once. */
  readonly '~standard': {
    readonly version: 1
    readonly vendor: 'loop-guard'
    readonly validate: (raw: unknown) => Result<Fields>
    readonly types?: { readonly input: Partial<Fields> | null | undefined; readonly output: Fields }
  }
}

type Result<Fields> =
  | { readonly value: Fields; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path: readonly (string | number)[] }[] }

const SECTIONS = ['repeatToolReminder', 'toolCallLimit'] as const

/** The section of the guard's configuration that a plugin's is. */
export type Section = (typeof SECTIONS)[number]

/**
 * A guard with one section alone in force.
 *
 * @throws {ConfigurationError} with paths into that section.
 */
export function sectionGuard(section: Section, raw: unknown): Guard {
  const off = SECTIONS.filter((other) => other !== section).map((other) => [other, { enabled: false }])
  try {
    return createGuard({ ...Object.fromEntries(off), [section]: raw ?? null })
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    const prefix = `/${section}`
    throw new ConfigurationError(
      error.problems.map(({ path, message }) => ({
        path: path.startsWith(prefix) ? path.slice(prefix.length) : path,
        message,
      })),
    )
  }
}

/**
 * The schema of a plugin's configuration: the component itself judges it, and knows the defaults.
 *
 * @param optional the fields that are there only if they were given.
 */
export function schema<Fields>(section: Section, optional: readonly string[]): Schema<Fields> {
  const parse = (raw: unknown): Fields => {
    const fields: Record<string, unknown> = JSON.parse(sectionGuard(section, raw).describe())[section]
    for (const field of optional) delete fields[field]
    // As it was given, not as the component understands it: it sorts thresholds, for instance.
    const given: Record<string, unknown> = JSON.parse(configurationText(raw ?? {}))
    for (const [field, value] of Object.entries(given)) if (value !== null) fields[field] = value
    return fields as Fields
  }
  const validate = (raw: unknown): Result<Fields> => {
    try {
      return { value: parse(raw) }
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      return { issues: error.problems.map(({ path, message }) => ({ message, path: keys(path, raw) })) }
    }
  }
  return Object.assign((raw?: unknown) => parse(raw), {
    '~standard': { version: 1, vendor: 'loop-guard', validate } as const,
  })
}

/** The keys of a JSON Pointer into a value; those of arrays are numbers. */
function keys(pointer: string, value: unknown): (string | number)[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      const isElement = Array.isArray(value)
      value = value === null || typeof value !== 'object' ? undefined : Reflect.get(value, key)
      return isElement ? Number(key) : key
    })
}

/**
 * The agents of one guard, by their live objects: an object with the id of an earlier one is another agent. Those that
 * nobody holds any more have ended.
 */
export class Agents {
  readonly #guard: Guard
  readonly #ids = new WeakMap<object, string>()
  readonly #gone: FinalizationRegistry<string>
  #last = 0

  constructor(guard: Guard, log: Log) {
    this.#guard = guard
    this.#gone = new FinalizationRegistry((id) => attempt(log, () => guard.agentEnded(id)))
  }

  /** The string that names an agent to the guard. */
  id(agent: object): string {
    let id = this.#ids.get(agent)
    if (id === undefined) {
      id = String(++this.#last)
      this.#ids.set(agent, id)
      this.#gone.register(agent, id)
    }
    return id
  }

  /** An agent has ended. */
  ended(agent: object): void {
    const id = this.#ids.get(agent)
    if (id !== undefined) this.#guard.agentEnded(id)
  }

  /** A call as the guard is told of it. */
  call({ callId, name, arguments: value, agent }: ToolExecution): ToolCall {
    // Text that was malformed arrives as a string: as JSON it has the canonical form that it would have itself.
    const text = JSON.stringify(value) ?? ''
    return { agent: agent && this.id(agent), id: String(callId), name, arguments: text }
  }
}

/** The log of a plugin. */
export function logOf(ctx: Context, plugin: string): Log {
  return (what) => ctx.logger?.warn(`${plugin}: ${what}`)
}

/** Asks the guard. A fault of the guard is logged, and does not reach the agent. */
export function attempt<T>(log: Log, ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    log(messageOf(error))
    return undefined
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
