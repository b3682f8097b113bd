// A plugin for DeepSeek Harness that stands in for its own repeat-tool-reminder: it reminds an agent that repeats a call.

import type { Notice } from '../index.js'
import {
  Agents,
  attempt,
  type Context,
  logOf,
  type Proposal,
  type Schema,
  schema,
  sectionGuard,
  type ToolExecution,
} from './shared.js'

/** What the user configures. */
export interface Config {
  /** The counts of equal calls at which the model is reminded; by default 3, 5 and 8. */
  thresholds: number[]
  /** Patterns of the tools that are watched; by default none, which means all. */
  include: string[]
  /** Patterns of the tools that are not, even if included; by default none. */
  exclude: string[]
  /** How much of the arguments a reminder quotes, in UTF-16 code units; by default 500. */
  argumentsPreviewChars: number
  /** `false` switches the plugin off. */
  enabled?: boolean
  /** What goes beyond the original: `results`, `every`, `askAt`, `denyAt`, `maxPeriod`, `tools` and the others of the guard. */
  [beyond: string]: unknown
}

interface ToolResult {
  isError?: boolean
  content?: readonly { text?: unknown }[]
}

interface SessionEvent {
  surfaceOp?: unknown
}

interface Decision {
  additionalContexts?: readonly object[]
}

export const name = 'repeat-tool-reminder'

export const Config: Schema<Config> = schema<Config>('repeatToolReminder', ['enabled'])

/**
 * Installs the plugin, as often as one likes.
 *
 * @throws {ConfigurationError} if the configuration is rejected. Nothing is installed then.
 */
export function apply(ctx: Context, config?: Partial<Config> | null): void {
  const guard = sectionGuard('repeatToolReminder', config)
  const log = logOf(ctx, name)
  const agents = new Agents(guard, log)
  const { resetOn = [], ...section } = JSON.parse(guard.describe()).repeatToolReminder
  /** The calls that were denied, or asked about and not approved, as far as this plugin knows. */
  const denied = new WeakSet<object>()
  const asked = new WeakSet<object>()
  const approved = new WeakSet<object>()

  ctx.on('tools/post-execute', async (exec: ToolExecution, result: ToolResult, next: () => Promise<Decision>) => {
    const status = denied.has(exec) || asked.has(exec) ? 'denied' : result?.isError ? 'failed' : 'succeeded'
    const { agent } = exec
    if (agent && approved.has(exec)) attempt(log, () => guard.noted(agents.id(agent), 'approved'))
    const notices = attempt(log, () => guard.postExecute(agents.call(exec), { status, content: textOf(result) }))
    const decision = await next()
    if (notices === undefined || notices.length === 0) return decision
    return { ...decision, additionalContexts: [...notices.map(message), ...(decision.additionalContexts ?? [])] }
  })

  // Without these the plugin only advises, and does not stand in the way of any call.
  if (looksAhead(section) || resetOn.includes('approval')) {
    ctx.on(
      'tools/pre-execute',
      async (exec: ToolExecution, next: () => unknown) => {
        const own = attempt(log, () => guard.preExecute(agents.call(exec))) ?? { kind: 'allow' }
        const decision = (own.kind === 'allow' ? await next() : own) as { kind: string }
        if (decision.kind === 'deny') denied.add(exec)
        if (decision.kind === 'ask') asked.add(exec)
        return decision
      },
      { prepend: true },
    )
    // A call that was asked about is dispatched only if it was approved.
    ctx.on('tools/execute', (exec: ToolExecution, next: () => unknown) => {
      if (asked.delete(exec)) approved.add(exec)
      return next()
    })
  }

  /** The agents whose session may be compacted. */
  const owners = new WeakMap<object, object>()
  if (resetOn.includes('compaction')) {
    ctx.on('session/event', (session: object, { surfaceOp }: SessionEvent) => {
      const agent = owners.get(session)
      // Something takes the place of what the model saw before.
      if (agent && typeof surfaceOp === 'object') attempt(log, () => guard.noted(agents.id(agent), 'compacted'))
    })
  }

  ctx.on('agent/pre-step', ({ agent, messages, turn, step }: Proposal, next: () => unknown) => {
    if (agent.session) owners.set(agent.session, agent)
    const prompted = messages.some(({ source }) => source.kind === 'user')
    attempt(log, () => guard.step({ agent: agents.id(agent), turn, step, prompted }))
    return next()
  })
}

interface Ladder {
  askAt?: number
  denyAt?: number
}

/** Whether the configuration asks or denies before calls. */
function looksAhead({ tools = [], ...section }: Ladder & { tools?: Ladder[] }): boolean {
  return [section, ...tools].some(({ askAt, denyAt }) => askAt !== undefined || denyAt !== undefined)
}

/** What the model sees of a result, as text. */
function textOf(result: ToolResult | undefined): string {
  const blocks = result?.content ?? []
  return blocks.map((block) => (typeof block.text === 'string' ? block.text : JSON.stringify(block))).join('\n')
}

function message({ summary, text }: Notice): object {
  return {
    id: crypto.randomUUID(),
    role: 'user',
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: name, form: 'notice', summary },
  }
}
