// A DeepSeek Harness with tools and a model that says what a script tells it to.
import { Context } from '@deepseek-ai/cordis'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import { mountAgentLoopTestDependencies } from '@deepseek-ai/dsh-agent-loop-testkit'
import { createUserMessage, LlmAdapter } from '@deepseek-ai/dsh-llm'

/** Says, for each model, one response after the other: a list of calls, or else a text with which the turn ends. */
class ScriptedModel extends LlmAdapter {
  #responses
  #calls = 0
  /** The requests that were made. */
  requests = []

  constructor(responses) {
    super()
    this.#responses = responses
  }

  async *stream({ model, messages }) {
    this.requests.push({ model, messages })
    const response = this.#responses[model].shift()
    if (response === undefined) throw new Error(`the script of ${model} is over`)
    if (response instanceof Error) throw response
    const blocks =
      typeof response === 'string'
        ? [{ type: 'text', text: response }]
        : response.map(([name, text]) => ({ type: 'tool-call', id: `call_${++this.#calls}`, name, arguments: text }))
    for (const [index, block] of blocks.entries()) {
      yield { type: 'block-start', index, blockType: block.type }
      yield { type: 'block-end', index, block }
    }
    yield { type: 'finish', reason: { kind: typeof response === 'string' ? 'stop' : 'tool-calls' } }
  }
}

/**
 * Starts a harness.
 *
 * @param responses what each model says, by its name.
 * @param plugins pairs of a plugin and its configuration.
 */
export async function start(responses, plugins) {
  const ctx = new Context()
  await mountAgentLoopTestDependencies(ctx)
  const model = new ScriptedModel(responses)
  ctx.llm.registerAdapter(['scripted'], model)
  const ran = []
  for (const name of ['grep', 'web_search', 'read']) ctx.tools.register(tool(name, ran))
  for (const [plugin, config] of plugins) await ctx.plugin(plugin, config)
  await ctx.plugin(AgentLoop, { agents: [] })
  return { ctx, model, ran }
}

/** A tool that may run in parallel with others, and answers with its own name. `{"fail": true}` makes it fail. */
function tool(name, ran) {
  return {
    name,
    description: name,
    parameters: { type: 'object' },
    output: { schema: { type: 'string' }, render: (_, value) => [{ type: 'text', text: value }] },
    isConcurrencySafe: () => true,
    async execute(args) {
      ran.push(name)
      if (args?.fail) throw new Error('no such file')
      return `${name} answers`
    },
  }
}

/** An agent whose model has its id as name; `ctx` is the context that owns it. */
export async function agent(ctx, id) {
  return ctx.agents.create({ sessionId: id, agentOptions: { provider: 'scripted', model: id } })
}

/** A person's prompt; it returns once the agent rests. */
export async function prompt({ agent: subject }, text = 'find it') {
  subject.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
  await subject.whenIdle()
}

/** What stands in the session log of an agent, a line for each event that matters. */
export function log({ agent: subject }) {
  return subject.session.events.flatMap(({ type, data }) => {
    switch (type) {
      case 'user/message': {
        const { source, content } = data
        return [
          source.kind === 'user' ? 'prompt' : `${source.plugin} ${source.form}: ${source.summary}: ${content[0].text}`,
        ]
      }
      case 'tool/call':
        return [`call ${data.name}`]
      case 'tool/result':
        return [`result ${data.message.content.map((block) => texts(block)).join()}`]
      case 'turn/end':
        return [`end ${data.reason.kind}`]
      default:
        return []
    }
  })
}

const texts = (block) => block.text ?? block.content.map(texts).join()
