// Both plugins inside DeepSeek Harness itself, with a scripted model.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import Loader from '@deepseek-ai/cordis-plugin-loader'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { parse } from 'yaml'
import * as reminder from '../dist/dsh/repeat-tool-reminder.js'
import * as limit from '../dist/dsh/tool-call-limit.js'
import { agent, log, prompt, start } from './harness.mjs'

const GREP = ['grep', '{"pattern":"TODO"}']
const READ = ['read', '{}']
const SEARCH = ['web_search', '{"q":"wasm"}']
const GENTLE =
  'repeat-tool-reminder notice: grep × 3: You keep repeating the exact same tool call. Study the result it already gave you before you call it again: if the task is not done yet, change your approach or the arguments.'
const NO_STEP = 'Error: per-step tool limit has no active agent step'

/** A call that is made for an agent outside of its loop, as its result. */
async function direct(ctx, handle, name = 'web_search') {
  const signal = new AbortController().signal
  const { content } = await ctx.tools.execute({ callId: 'direct', name, arguments: {}, agent: handle?.agent, signal })
  return content[0].text
}

const text = (what) => [{ type: 'text', text: what }]
const injected = (what) =>
  createUserMessage({ content: text(what), source: { kind: 'plugin', plugin: 'other', form: 'notice', summary: what } })

test('an agent that repeats a call gets the notice in its session log, after the results of the step', async () => {
  const again = ['grep', '{ "pattern": "T\\u004fDO" }']
  const { ctx, model } = await start({ main: [[GREP], [again], [GREP, READ], 'done'] }, [[reminder, {}]])
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.deepEqual(log(main), [
    'prompt',
    ...['call grep', 'result grep answers'],
    ...['call grep', 'result grep answers'],
    ...['call grep', 'call read', 'result grep answers', 'result read answers'],
    GENTLE,
    'end completed',
  ])
  const told = model.requests.at(-1).messages.at(-1)
  assert.equal(told.role, 'user')
  assert.deepEqual(told.source, {
    kind: 'plugin',
    plugin: 'repeat-tool-reminder',
    form: 'notice',
    summary: 'grep × 3',
  })
  assert.match(told.id, /^[0-9a-f-]{36}$/)
})

test('a child agent has its own counts', async () => {
  const { ctx } = await start({ parent: [[GREP], [GREP], 'wait', 'done'], child: [[GREP], [GREP], 'done'] }, [
    [reminder, {}],
  ])
  const parent = await agent(ctx, 'parent')
  await prompt(parent)
  const child = await agent(parent.agent.ctx, 'child')
  await prompt(child)
  assert.deepEqual(log(child), [
    'prompt',
    ...Array(2).fill(['call grep', 'result grep answers']).flat(),
    'end completed',
  ])
  assert.deepEqual(log(parent), [
    'prompt',
    ...Array(2).fill(['call grep', 'result grep answers']).flat(),
    'end completed',
  ])
})

test('agents that take turns do not mix: only the one that made three equal calls is reminded', async () => {
  const { ctx } = await start({ parent: [[GREP], [GREP], [GREP], 'done'], child: [[GREP], [GREP], 'done'] }, [
    [reminder, {}],
  ])
  const parent = await agent(ctx, 'parent')
  const child = await agent(parent.agent.ctx, 'child')
  await Promise.all([prompt(parent), prompt(child)])
  assert.equal(log(parent).filter((line) => line === GENTLE).length, 1)
  assert.equal(log(child).filter((line) => line === GENTLE).length, 0)
})

test('from denyAt on the reminder denies, and a poll that makes progress is silent where results are compared', async () => {
  const { ctx } = await start({ main: [[GREP], [GREP], [GREP], [GREP], 'done'] }, [
    [reminder, { thresholds: [9], denyAt: 3 }],
  ])
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.deepEqual(log(main), [
    'prompt',
    ...Array(2).fill(['call grep', 'result grep answers']).flat(),
    ...['call grep', 'result Error: tool grep repeated 3 times with identical arguments'],
    ...['call grep', 'result Error: tool grep repeated 4 times with identical arguments'],
    'end completed',
  ])

  let polls = 0
  const compared = await start({ main: [[GREP], [GREP], [GREP], [GREP], 'done'] }, [
    [reminder, { thresholds: [2], results: 'compare' }],
  ])
  compared.ctx.on('tools/pre-execute', () => ({ kind: 'deny', reason: `progress ${Math.min(++polls, 3)}` }))
  const polling = await agent(compared.ctx, 'main')
  await prompt(polling)
  assert.equal(log(polling).filter((line) => line.includes('notice')).length, 1)
  assert.equal(log(polling).at(-2), GENTLE.replace('× 3', '× 2'))
})

for (const [outcome, notices] of [
  ['allowed-once', 0],
  ['rejected', 1],
]) {
  test(`where approvals end chains, a call that is ${outcome} ${notices ? 'does not' : 'does'}`, async () => {
    const config = { thresholds: [2], resetOn: ['approval'] }
    const { ctx, ran } = await start({ main: [[GREP], [GREP], 'done'] }, [[reminder, config]])
    ctx.provide('approval', { request: async () => outcome })
    ctx.on('tools/pre-execute', () => ({ kind: 'ask' }))
    const main = await agent(ctx, 'main')
    await prompt(main)
    assert.equal(log(main).filter((line) => line.includes('grep × 2')).length, notices)
    assert.equal(ran.length, notices ? 0 : 2)
  })
}

test('an ask of the reminder that is approved ends the chain', async () => {
  const config = { thresholds: [9], askAt: 2, resetOn: ['approval'] }
  const { ctx, ran } = await start({ main: [[GREP], [GREP], [GREP], [GREP], 'done'] }, [[reminder, config]])
  const requests = []
  ctx.provide('approval', { request: async ({ reason }) => requests.push(reason) && 'allowed-once' })
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.deepEqual(requests, Array(3).fill('tool grep repeated 2 times with identical arguments'))
  assert.equal(ran.length, 4)
})

test('where compactions end chains, what takes the place of earlier messages does', async () => {
  const script = () => ({ main: [[GREP], 'wait', [GREP], 'done'] })
  for (const [resetOn, notices] of [
    [['compaction'], 0],
    [[], 1],
  ]) {
    const { ctx } = await start(script(), [[reminder, { thresholds: [2], resetOn }]])
    const main = await agent(ctx, 'main')
    await prompt(main)
    const { session } = main.agent
    const [{ seq }] = session.events.filter(({ type }) => type === 'user/message')
    const surfaceOp = { op: 'replace', start: seq, end: seq }
    session.append('user/message', injected('what happened so far'), { surfaceOp, sourceEventSeqs: [seq] })
    main.agent.steer(injected('go on'))
    await main.agent.whenIdle()
    assert.equal(log(main).filter((line) => line.includes('grep × 2')).length, notices, resetOn.join())
  }
})

test('a denied call still counts, whoever denied it', async () => {
  const { ctx } = await start({ main: [[GREP], [GREP], [GREP], 'done'] }, [
    [reminder, {}],
    [limit, { limits: { grep: 1 } }],
  ])
  ctx.on('tools/pre-execute', (exec, next) => (exec.arguments.pattern ? { kind: 'deny', reason: 'not here' } : next()))
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.deepEqual(log(main), [
    'prompt',
    ...Array(3).fill(['call grep', 'result Error: not here']).flat(),
    GENTLE,
    'end completed',
  ])
})

test('a call that the limit denied counts for the reminder', async () => {
  const { ctx } = await start({ main: [[GREP, GREP, GREP], 'done'] }, [
    [reminder, {}],
    [limit, { limits: { grep: 1 } }],
  ])
  const main = await agent(ctx, 'main')
  await prompt(main)
  const denied = 'result Error: tool grep exceeded its per-step limit of 1'
  const lines = log(main).filter((line) => !line.startsWith('call'))
  assert.deepEqual(lines, ['prompt', 'result grep answers', denied, denied, GENTLE, 'end completed'])
})

test('of two parallel calls with one slot one passes, and the next step has a slot again', async () => {
  const other = ['web_search', '{"q":"wasi"}']
  const { ctx, ran } = await start({ main: [[SEARCH, other], [SEARCH], 'done'] }, [
    [limit, { limits: { web_search: 1 } }],
  ])
  const main = await agent(ctx, 'main')
  await prompt(main)
  const results = log(main).filter((line) => line.startsWith('result'))
  assert.deepEqual(results, [
    'result web_search answers',
    'result Error: tool web_search exceeded its per-step limit of 1',
    'result web_search answers',
  ])
  assert.deepEqual(ran, ['web_search', 'web_search'])
})

test('where a person would be asked and nobody is there, the call is denied with the reason', async () => {
  const config = { limits: { web_search: 1 }, onExceeded: 'ask' }
  const { ctx, ran } = await start({ main: [[SEARCH, SEARCH], 'done'] }, [[limit, config]])
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.match(log(main).at(-2), /tool web_search exceeded its per-step limit of 1/)
  assert.deepEqual(ran, ['web_search'])
})

test("a person's prompt ends a chain, injected context does not", async () => {
  const script = { main: [[GREP], [GREP], 'wait', [GREP], 'wait', [GREP], [GREP], 'done'] }
  const { ctx } = await start(script, [[reminder, {}]])
  const main = await agent(ctx, 'main')
  await prompt(main)
  await prompt(main)
  assert.equal(log(main).includes(GENTLE), false)
  main.agent.steer(injected('by the way'))
  await main.agent.whenIdle()
  assert.equal(log(main).at(-2), GENTLE)
})

test('the notice stands before what other plugins add, and their block stays', async () => {
  const { ctx } = await start({ main: [[GREP], [GREP], [GREP], 'done'] }, [[reminder, {}]])
  ctx.on('tools/post-execute', async () => ({
    kind: 'block',
    feedback: text('blocked'),
    additionalContexts: [injected('mind the gap')],
  }))
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.deepEqual(log(main).slice(-6), [
    'other notice: mind the gap: mind the gap',
    'call grep',
    'result blocked',
    GENTLE,
    'other notice: mind the gap: mind the gap',
    'end completed',
  ])
})

test('calls without an agent are not counted, and denied where their tool is limited', async () => {
  const { ctx } = await start({}, [
    [reminder, { thresholds: [2] }],
    [limit, { limits: { web_search: 1 } }],
  ])
  assert.equal(await direct(ctx, undefined), 'Error: per-step tool limit requires an agent context')
  assert.equal(await direct(ctx, undefined, 'grep'), 'grep answers')
})

test('a call between steps belongs to the step that was begun last, until the turn stops', async () => {
  const { ctx } = await start({ main: ['done'] }, [[limit, { limits: { web_search: 1 } }]])
  const main = await agent(ctx, 'main')
  const seen = []
  // Listeners run one after the other: this one before the plugin's own.
  ctx.on('agent/turn-stopping', async () => void seen.push(await direct(ctx, main)), { prepend: true })
  await prompt(main)
  assert.deepEqual(seen, ['web_search answers'])
  assert.equal(await direct(ctx, main), NO_STEP)
})

test('a step that another plugin rejects is aborted', async () => {
  const { ctx } = await start({ main: [] }, [[limit, { limits: { web_search: 1 } }]])
  const seen = []
  const main = await agent(ctx, 'main')
  ctx.on('agent/pre-step', async () => {
    seen.push(await direct(ctx, main))
    return { kind: 'reject' }
  })
  await prompt(main)
  assert.deepEqual(log(main), ['end blocked'])
  assert.deepEqual(seen, ['web_search answers'])
  assert.equal(await direct(ctx, main), NO_STEP)
})

test('a step whose preparation fails is aborted', async () => {
  const { ctx } = await start({ main: [] }, [[limit, { limits: { web_search: 1 } }]])
  const main = await agent(ctx, 'main')
  ctx.on('agent/pre-step', async () => {
    throw new Error('no room')
  })
  await prompt(main)
  assert.deepEqual(log(main), ['end error'])
  assert.equal(await direct(ctx, main), NO_STEP)
})

test('a step whose model request breaks is aborted', async () => {
  const { ctx } = await start({ main: [new Error('the line is dead')] }, [[limit, { limits: { web_search: 1 } }]])
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.deepEqual(log(main), ['prompt', 'end error'])
  assert.equal(await direct(ctx, main), NO_STEP)
})

test('a new agent with the id of one that was disposed starts afresh', async () => {
  const script = { main: [[GREP], [GREP, SEARCH], 'wait', [GREP], 'done'] }
  const { ctx } = await start(script, [
    [reminder, {}],
    [limit, { limits: { web_search: 1 } }],
  ])
  const first = await agent(ctx, 'main')
  await prompt(first)
  await first.dispose()
  assert.equal(await direct(ctx, first), NO_STEP)
  const second = await agent(ctx, 'main')
  second.agent.steer(injected('go on'))
  await second.agent.whenIdle()
  assert.equal(log(second).includes(GENTLE), false)
})

test('plugins come and go in one process, each with its own configuration and counts', async () => {
  const { ctx } = await start({ main: [[GREP], [GREP], 'wait', [GREP], [GREP], 'done'] }, [])
  const main = await agent(ctx, 'main')
  const strict = ctx.plugin(reminder, { thresholds: [2] })
  const lenient = ctx.plugin(reminder, { thresholds: [4] })
  await Promise.all([strict, lenient])
  await prompt(main)
  assert.equal(log(main).filter((line) => line.includes('grep × 2')).length, 1)
  await strict.dispose()
  await lenient.dispose()
  for (let round = 0; round < 200; round++) {
    const fiber = ctx.plugin(round % 2 ? reminder : limit, {})
    await fiber
    await fiber.dispose()
  }
  main.agent.steer(injected('go on'))
  await main.agent.whenIdle()
  assert.equal(log(main).filter((line) => line.startsWith('repeat-tool-reminder')).length, 1)
})

/** The listeners of a context that a plugin adds, with what they were registered with. */
async function added(plugin, config) {
  const { ctx } = await start({}, [])
  const count = () => Object.fromEntries(Object.entries(ctx.events._hooks).map(([name, hooks]) => [name, hooks.length]))
  const before = count()
  let error
  try {
    await ctx.plugin(plugin, config)
  } catch (thrown) {
    error = thrown
  }
  const after = Object.entries(ctx.events._hooks).filter(([name, hooks]) => hooks.length !== (before[name] ?? 0))
  return { error, listeners: after.map(([name, hooks]) => `${name} + ${hooks.length - (before[name] ?? 0)}`).sort() }
}

test('each plugin registers exactly its listeners, as a row of a profile patch configures it', async () => {
  const row = { id: 'tool-call-limit', name: 'loop-guard/dsh/tool-call-limit', config: { limits: { web_search: 1 } } }
  assert.deepEqual((await added(limit, row.config)).listeners, [
    'agent/disposed + 1',
    'agent/error + 1',
    'agent/pre-step + 1',
    'agent/turn-stopping + 1',
    'tools/pre-execute + 1',
  ])
  assert.deepEqual((await added(reminder, undefined)).listeners, ['agent/pre-step + 1', 'tools/post-execute + 1'])
})

test('a bad configuration is refused before anything is registered', async () => {
  const refused = async (plugin, config, words) => {
    const { error, listeners } = await added(plugin, config)
    assert.match(error.message, words)
    assert.deepEqual(listeners, [])
  }
  await refused(reminder, { thresholds: [] }, /must not be empty/)
  await refused(reminder, { treshold: [3] }, /unknown field/)
  await refused(limit, { limits: { web_search: -1 } }, /must be a non-negative safe integer/)
  await refused(limit, { limits: { web_search: undefined } }, /cannot be written as JSON: undefined/)
  await refused(limit, { limits: new Map([['web_search', 1]]) }, /cannot be written as JSON: Map/)
})

test("the loader takes the README's rows of a profile patch", async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const rows = parse(/^```yaml\n([\s\S]*?)^```/m.exec(readme)[1])
  const { ctx } = await start({ main: [[GREP], [GREP], [GREP, SEARCH, SEARCH], 'done'] }, [])
  await ctx.plugin(Loader, { baseUrl: import.meta.url })
  for (const { name, ...row } of rows) {
    await ctx.loader.create({ ...row, name: name.replace('loop-guard', '../dist').concat('.js') })
  }
  await ctx.loader.await()
  const main = await agent(ctx, 'main')
  await prompt(main)
  assert.equal(log(main).includes('result Error: tool web_search exceeded its per-step limit of 1'), true)
  assert.equal(log(main).at(-2), GENTLE)
})
