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

  ctx.on(
    'tools/post-execute',
    async (exec: ToolExecution, result: { isError?: boolean }, next: () => Promise<Decision>) => {
      const notices = attempt(log, () =>
        guard.postExecute(agents.call(exec), { status: result?.isError ? 'failed' : 'succeeded' }),
      )
      const decision = await next()
      if (notices === undefined || notices.length === 0) return decision
      return { ...decision, additionalContexts: [...notices.map(message), ...(decision.additionalContexts ?? [])] }
    },
  )

  ctx.on('agent/pre-step', ({ agent, messages, turn, step }: Proposal, next: () => unknown) => {
    const prompted = messages.some(({ source }) => source.kind === 'user')
    attempt(log, () => guard.step({ agent: agents.id(agent), turn, step, prompted }))
    return next()
  })
}

function message({ summary, text }: Notice): object {
  return {
    id: crypto.randomUUID(),
    role: 'user',
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: name, form: 'notice', summary },
  }
}
