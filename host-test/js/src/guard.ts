// A guard: one instance of the component, and what becomes of it.

import type * as Hooks from '../build/interfaces/loop-guard-plugin-guard.js'
import type * as Questions from '../build/interfaces/loop-guard-plugin-introspection.js'
import type * as Resuming from '../build/interfaces/loop-guard-plugin-resume.js'
import type { Decision, Event, Needs, Notice, Outcome, Problem, Stat, Status, StepStart, ToolCall } from './contract.js'
import { CallError, ConfigurationError, RestoreError } from './errors.js'
import { configurationText } from './json.js'

/** How much one guard may use. What goes beyond is a {@link CallError}. */
export interface Limits {
  /**
   * The linear memory of its instance, in bytes; by default 1 GiB. It is looked at after each call: an instance that has
   * grown beyond it is thrown away. The engine refuses to let any instance grow beyond 1088 MiB.
   */
  memory: number
  /** The length of each text that is sent, in bytes of UTF-8: arguments, results, names, configurations; by default 32 MiB. */
  text: number
}

/**
 * Makes a guard: an instance of its own, for any number of agents.
 *
 * @param config one JSON object, as JSON text or as a plain value; without it, and for null, the defaults. What JSON would
 * lose (undefined, NaN, a Map) is a problem, never dropped.
 * @param limits what the guard may use, where it is not to be the default.
 * @throws {ConfigurationError} with all problems of the configuration.
 * @throws {CallError} if the component could not be asked.
 * @throws {TypeError} or a {RangeError} if the limits are none.
 */
export type CreateGuard = (config?: unknown, limits?: Partial<Limits>) => Guard

/** A running instance. After a fault it must not be called again. */
export interface Instance {
  /** What the component exports. */
  functions: Functions
  /** The size of its linear memory in bytes. */
  memory: () => number
}

interface Functions {
  guard: typeof Hooks
  introspection: typeof Questions
  resume: typeof Resuming
}

const MIB = 1 << 20
const EVENTS: readonly string[] = ['compacted', 'approved'] satisfies Event[]
const STATUSES: readonly string[] = ['succeeded', 'failed', 'denied'] satisfies Status[]

/**
 * One instance of the component with a configuration. Its methods are the functions of the contract, and answer at once.
 *
 * Every method throws a {@link CallError} when the component traps or goes beyond its {@link Limits}, and the guard can be
 * used again at once; and a `TypeError` or `RangeError` for what the types do not allow, which changes nothing.
 * Nothing bounds the time of a call, since nothing can interrupt one.
 */
export class Guard {
  readonly #start: () => Instance
  readonly #limits: Limits
  #config = '{}'
  #needs: Needs = { content: false }
  /** Undefined after a fault, until the next call. */
  #instance: Instance | undefined

  constructor(start: () => Instance, config: unknown, limits: Partial<Limits>) {
    this.#start = start
    this.#limits = checkedLimits(limits)
    const text = this.#configuration(config)
    this.#instance = this.#instantiate()
    this.#put(text)
  }

  /**
   * Puts another configuration in force, and forgets all state: every agent, count and quota.
   *
   * @throws {ConfigurationError} with all problems of the configuration. Nothing has changed then.
   */
  configure(config: unknown): Needs {
    return this.#put(this.#configuration(config))
  }

  /**
   * A step is proposed for an agent, before its model request, whether or not it will make calls. The agent's quotas
   * start anew; if a person's message enters with it, the agent's chain of repeated calls ends.
   */
  step({ agent, turn, step, prompted }: StepStart): void {
    if (typeof prompted !== 'boolean') throw new TypeError('step: prompted must be a boolean')
    const start = {
      agent: this.#text('step', 'agent', agent),
      turn: number('step', 'turn', turn),
      step: number('step', 'step', step),
      prompted,
    }
    this.#call('step', ({ guard }) => guard.step(start))
  }

  /** A tool call is about to run: before its body and before any later policy. */
  preExecute(call: ToolCall): Decision {
    const wire = this.#toolCall('pre-execute', call)
    const decision = this.#call('pre-execute', ({ guard }) => guard.preExecute(wire))
    switch (decision.tag) {
      case 'allow':
        return { kind: 'allow' }
      case 'deny':
      case 'ask':
        return { kind: decision.tag, reason: decision.val }
    }
  }

  /**
   * A tool call has reached an outcome. Each notice is for the model: a message of its own, after all results of the
   * step. The list is empty nearly always.
   */
  postExecute(call: ToolCall, { status, content }: Outcome): Notice[] {
    const hook = 'post-execute'
    const wire = this.#toolCall(hook, call)
    if (!STATUSES.includes(status)) throw new TypeError(`${hook}: status must be one of ${STATUSES.join(', ')}`)
    const sent = content != null && this.#needs.content
    const outcome = sent ? { status, content: this.#text(hook, 'content', content) } : { status }
    return this.#call(hook, ({ guard }) => guard.postExecute(wire, outcome))
  }

  /** The step that was begun last was rejected, failed to be prepared, or broke. Never for one that ended normally. */
  stepAborted(agent: string, turn: number, step: number): void {
    const hook = 'step-aborted'
    this.#text(hook, 'agent', agent)
    number(hook, 'turn', turn)
    number(hook, 'step', step)
    this.#call(hook, ({ guard }) => guard.stepAborted(agent, turn, step))
  }

  /** A turn has ended: the agent rests until its next prompt. */
  turnEnded(agent: string, turn: number): void {
    const hook = 'turn-ended'
    this.#text(hook, 'agent', agent)
    number(hook, 'turn', turn)
    this.#call(hook, ({ guard }) => guard.turnEnded(agent, turn))
  }

  /** An agent has ended; everything about it is forgotten, and the same string may name another agent. */
  agentEnded(agent: string): void {
    this.#text('agent-ended', 'agent', agent)
    this.#call('agent-ended', ({ guard }) => guard.agentEnded(agent))
  }

  /** Something happened to an agent that can end its chain of repeated calls, where the configuration says so. */
  noted(agent: string, event: Event): void {
    this.#text('noted', 'agent', agent)
    if (!EVENTS.includes(event)) throw new TypeError(`noted: event must be one of ${EVENTS.join(', ')}`)
    this.#call('noted', ({ guard }) => guard.noted(agent, event))
  }

  /** All counts of all agents, as bytes for {@link restore}. */
  snapshot(): Uint8Array {
    return this.#call('snapshot', ({ resume }) => resume.snapshot())
  }

  /**
   * Goes on with the counts of a snapshot in place of those that there are.
   *
   * @throws {RestoreError} if it is damaged, of another version, or taken under another configuration. Nothing has changed then.
   */
  restore(snapshot: Uint8Array): void {
    if (!(snapshot instanceof Uint8Array)) throw new TypeError('restore: snapshot must be a Uint8Array')
    this.#size('restore', 'snapshot', snapshot.length)
    const refused = this.#call('restore', (functions) => restore(functions, snapshot))
    if (refused !== undefined) throw new RestoreError(refused)
  }

  /** What the guard has done to each agent that it remembers, the one that was idle longest first. */
  stats(): Stat[] {
    return this.#call('stats', ({ introspection }) => introspection.stats())
  }

  /** The configuration in force with its defaults filled in, as JSON text. */
  describe(): string {
    return this.#call('describe', ({ introspection }) => introspection.describe())
  }

  /** The canonical form of a call's raw arguments. Calls with equal arguments have equal forms. */
  canonical(text: string): string {
    this.#text('canonical', 'text', text)
    return this.#call('canonical', ({ introspection }) => introspection.canonical(text))
  }

  /** The agent's current count of equal calls; 0 without one. */
  count(agent: string): number {
    this.#text('count', 'agent', agent)
    return this.#call('count', ({ introspection }) => introspection.count(agent))
  }

  /** Which settings apply to a tool, and which entry of the configuration they come from, as JSON text. */
  explain(tool: string): string {
    this.#text('explain', 'tool', tool)
    return this.#call('explain', ({ introspection }) => introspection.explain(tool))
  }

  /** The linear memory of the instance in bytes; 0 after a fault, until the next call. It never shrinks. */
  get memory(): number {
    return this.#instance?.memory() ?? 0
  }

  #configuration(config: unknown): string {
    return this.#text('configure', 'configuration', configurationText(config))
  }

  #put(config: string): Needs {
    const answer = this.#call('configure', (functions) => configure(functions, config))
    // A rejection is an answer like any other.
    if (Array.isArray(answer)) throw new ConfigurationError(answer)
    this.#config = config
    this.#needs = answer
    return answer
  }

  #toolCall(hook: string, { agent, id, name, arguments: value }: ToolCall) {
    const call = {
      id: this.#text(hook, 'id', id),
      name: this.#text(hook, 'name', name),
      arguments: this.#text(hook, 'arguments', argumentsText(hook, value)),
    }
    return agent == null ? call : { agent: this.#text(hook, 'agent', agent), ...call }
  }

  /** A text, if it is one that may be sent. */
  #text(hook: string, what: string, text: string): string {
    if (typeof text !== 'string') throw new TypeError(`${hook}: ${what} must be a string`)
    const limit = this.#limits.text
    // No UTF-16 code unit takes more than three bytes.
    if (text.length * 3 <= limit) return text
    this.#size(hook, what, sizeInBytes(text))
    return text
  }

  #size(hook: string, what: string, size: number): void {
    const limit = this.#limits.text
    if (size > limit) throw new CallError(hook, `${what}: ${size} bytes, and no text of more than ${limit} is sent`)
  }

  /** Calls a function of the component: in a fresh instance if the last one is gone. A fault ends the instance. */
  #call<T>(hook: string, call: (functions: Functions) => T): T {
    const instance = this.#instance ?? this.#restart(hook)
    let answer: T
    try {
      answer = call(instance.functions)
    } catch (error) {
      this.#instance = undefined
      this.#checkMemory(hook, instance)
      throw new CallError(hook, `the component trapped: ${reason(error)}`, { cause: error })
    }
    this.#checkMemory(hook, instance)
    return answer
  }

  #checkMemory(hook: string, instance: Instance): void {
    if (instance.memory() <= this.#limits.memory) return
    this.#instance = undefined
    throw new CallError(hook, `the component wanted more than ${this.#limits.memory} bytes of memory`)
  }

  #instantiate(): Instance {
    try {
      return this.#start()
    } catch (error) {
      throw new CallError('instantiate', `the component trapped: ${reason(error)}`, { cause: error })
    }
  }

  /** A fresh instance with the configuration that was in force. */
  #restart(hook: string): Instance {
    try {
      this.#instance = this.#instantiate()
      this.#put(this.#config)
      return this.#instance
    } catch (error) {
      this.#instance = undefined
      throw new CallError(hook, `no fresh instance could be started: ${reason(error)}`, { cause: error })
    }
  }
}

/** Limits with their defaults filled in. */
function checkedLimits(limits: Partial<Limits>): Limits {
  const { memory = 1024 * MIB, text = 32 * MIB, ...unknown } = limits
  for (const name of Object.keys(unknown)) throw new TypeError(`limits: unknown field ${name}`)
  for (const [name, bytes] of Object.entries({ memory, text })) {
    if (typeof bytes !== 'number') throw new TypeError(`limits: ${name} must be a number`)
    if (!(bytes > 0)) throw new RangeError(`limits: ${name} must be more than 0`)
  }
  return { memory, text }
}

/** What a configuration needs, or the problems for which it is rejected: jco throws these. */
function configure({ guard }: Functions, config: string): Needs | Problem[] {
  try {
    return guard.configure(config)
  } catch (error) {
    const problems = payload(error)
    if (Array.isArray(problems)) return problems
    throw error
  }
}

/** Why a snapshot is refused, if it is. */
function restore({ resume }: Functions, snapshot: Uint8Array): string | undefined {
  try {
    resume.restore(snapshot)
    return undefined
  } catch (error) {
    const reason = payload(error)
    if (typeof reason === 'string') return reason
    throw error
  }
}

/** The error of a result, which jco throws. */
function payload(error: unknown): unknown {
  return error instanceof Error && 'payload' in error ? error.payload : undefined
}

/** The JSON text of a call's arguments. */
function argumentsText(hook: string, value: unknown): string {
  if (typeof value === 'string') return value
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new TypeError(`${hook}: arguments cannot be written as JSON: ${reason(error)}`, { cause: error })
  }
  if (text === undefined) throw new TypeError(`${hook}: arguments cannot be written as JSON: ${typeof value}`)
  return text
}

function number(hook: string, what: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value
  throw new RangeError(`${hook}: ${what} must be a whole number from 0 to 4294967295`)
}

/** The size of a text in UTF-8, without the memory that encoding it would take. */
function sizeInBytes(text: string): number {
  let size = 0
  for (const { length } of chunks(text)) size += length
  return size
}

function* chunks(text: string): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  for (let at = 0; at < text.length; ) {
    let end = at + MIB
    // A surrogate pair stays whole.
    if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end += 1
    yield encoder.encode(text.slice(at, end))
    at = end
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
