// A plugin for DeepSeek Harness that stands in for the community's tool-call-limit: it limits an agent's calls of a tool per step.

import { CallError, type Decision } from '../index.js'
import {
  Agents,
  attempt,
  type Context,
  logOf,
  messageOf,
  type Proposal,
  type Schema,
  schema,
  sectionGuard,
  type ToolExecution,
} from './shared.js'

/** What the user configures. */
export interface Config {
  /** For each limited tool, by its exact name, the calls that may run in one step; 0 forbids it. By default none. */
  limits: Record<string, number>
  /** What becomes of one too many: it is denied, which is the default, or a person is asked. */
  onExceeded?: 'deny' | 'ask'
  /** Beyond the original: the calls of a tool that may run in one turn, and in the life of an agent. */
  turnLimits?: Record<string, number>
  agentLimits?: Record<string, number>
  /** Beyond the original: the calls of all tools together. */
  totals?: { step?: number; turn?: number; agent?: number }
  /** `false` switches the plugin off. */
  enabled?: boolean
}

export const name = 'tool-call-limit'
export const inject = ['tools', 'agents']

export const Config: Schema<Config> = schema<Config>('toolCallLimit', ['onExceeded', 'enabled'])

/**
 * Installs the plugin, as often as one likes.
 *
 * Where the guard itself fails, limited calls are denied, and others run.
 *
 * @throws {ConfigurationError} if the configuration is rejected. Nothing is installed then.
 */
export function apply(ctx: Context, config?: Partial<Config> | null): void {
  const guard = sectionGuard('toolCallLimit', config)
  const log = logOf(ctx, name)
  const agents = new Agents(guard, log)
  /** A token for the newest proposal of each agent, since another one can bear the same numbers. */
  const newest = new WeakMap<object, object>()

  const propose = ({ agent, turn, step }: Proposal, next: () => unknown): unknown => {
    const token = {}
    newest.set(agent, token)
    attempt(log, () => guard.step({ agent: agents.id(agent), turn, step, prompted: false }))
    const abort = () => {
      if (newest.get(agent) === token) attempt(log, () => guard.stepAborted(agents.id(agent), turn, step))
    }
    return watch(next, abort)
  }

  const reserve = (exec: ToolExecution, next: () => unknown): unknown => {
    const decision = check(exec)
    return decision.kind === 'allow' ? next() : Promise.resolve(decision)
  }

  const check = (exec: ToolExecution): Decision => {
    try {
      return guard.preExecute(agents.call(exec))
    } catch (error) {
      log(messageOf(error))
      if (isUnlimited(exec.name)) return { kind: 'allow' }
      const fault = error instanceof CallError ? error.fault : messageOf(error)
      return { kind: 'deny', reason: `the limit of tool ${exec.name} could not be checked: ${fault}` }
    }
  }

  /** Whether no limit of any kind applies to a tool. If that cannot be told, one may. */
  const isUnlimited = (tool: string): boolean => {
    const applies = attempt(log, () => JSON.parse(guard.explain(tool)).toolCallLimit)
    if (applies === undefined) return false
    const { limit, turnLimit, agentLimit, totals } = applies
    return [limit, turnLimit, agentLimit, totals].every((quota) => quota == null)
  }

  ctx.on('agent/pre-step', propose, { prepend: true })
  ctx.on('tools/pre-execute', reserve, { prepend: true })
  ctx.on('agent/disposed', ({ agent }: Proposal) => attempt(log, () => agents.ended(agent)))
  ctx.on('agent/turn-stopping', ({ agent, turn }: Proposal) =>
    attempt(log, () => guard.turnEnded(agents.id(agent), turn)),
  )
  ctx.on('agent/error', ({ agent, turn, step }: Proposal) =>
    attempt(log, () => guard.stepAborted(agents.id(agent), turn, step)),
  )
}

/** What `next` answers, untouched; before whoever waits for it learns that the step was rejected or broke, it is aborted. */
function watch(next: () => unknown, abort: () => void): unknown {
  const entered = (decision: unknown): unknown => {
    if ((decision as { kind?: unknown } | undefined)?.kind === 'reject') abort()
    return decision
  }
  const broke = (error: unknown): never => {
    abort()
    throw error
  }
  let answer: unknown
  try {
    answer = next()
  } catch (error) {
    return broke(error)
  }
  return isPromise(answer) ? answer.then(entered, broke) : entered(answer)
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}
