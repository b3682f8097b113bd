// The plugins for DeepSeek Harness by themselves: their configuration, and each listener against a context that only listens.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ConfigurationError, createGuard } from 'loop-guard'
import * as reminder from 'loop-guard/dsh/repeat-tool-reminder'
import * as limit from 'loop-guard/dsh/tool-call-limit'
import { Agents } from '../dist/dsh/shared.js'

const ALLOW = Object.freeze({ kind: 'allow' })
const EXCEEDED = { kind: 'deny', reason: 'tool web_search exceeded its per-step limit of 1' }
const NO_STEP = { kind: 'deny', reason: 'per-step tool limit has no active agent step' }

/** Installs a plugin, and gives its listeners by the names of their events. */
function install(plugin, config) {
  const listeners = {}
  const options = {}
  const warnings = []
  plugin.apply(
    {
      logger: { warn: (message) => warnings.push(message) },
      on(event, listener, option) {
        assert.equal(listeners[event], undefined)
        listeners[event] = listener
        options[event] = option
      },
    },
    config,
  )
  return { listeners, options, warnings }
}

const call = (agent, name = 'web_search', args = {}) => ({ callId: '1', name, arguments: Object.freeze(args), agent })
const proposal = (agent, step = 1, ...kinds) => ({
  agent,
  turn: 1,
  step,
  messages: kinds.map((kind) => ({ source: { kind } })),
})
const issues = (plugin, raw) => plugin.Config['~standard'].validate(raw).issues
const value = (plugin, raw) => plugin.Config['~standard'].validate(raw).value

test('modules are what DeepSeek Harness loads', () => {
  assert.deepEqual(Object.keys(reminder).sort(), ['Config', 'apply', 'name'])
  assert.deepEqual(Object.keys(limit).sort(), ['Config', 'apply', 'inject', 'name'])
  assert.equal(reminder.name, 'repeat-tool-reminder')
  assert.equal(limit.name, 'tool-call-limit')
  assert.deepEqual(limit.inject, ['tools', 'agents'])
  for (const { Config } of [reminder, limit]) {
    assert.equal(Config['~standard'].version, 1)
    assert.equal(Config['~standard'].vendor, 'loop-guard')
  }
})

test("the limit's configuration has its defaults filled in, and onExceeded only if it was given", () => {
  for (const raw of [undefined, null, {}, { limits: null }, { limits: {}, onExceeded: null }]) {
    assert.deepEqual(value(limit, raw), { limits: {} })
    assert.deepEqual(limit.Config(raw), { limits: {} })
  }
  assert.deepEqual(limit.Config({ limits: { a: 0 }, onExceeded: 'deny' }), { limits: { a: 0 }, onExceeded: 'deny' })
  assert.deepEqual(limit.Config({ onExceeded: 'ask' }), { limits: {}, onExceeded: 'ask' })
  assert.deepEqual(limit.Config({ enabled: false }), { limits: {}, enabled: false })
})

test("the reminder's configuration has its defaults filled in", () => {
  const defaults = { thresholds: [3, 5, 8], include: [], exclude: [], argumentsPreviewChars: 500 }
  for (const raw of [undefined, null, {}]) assert.deepEqual(value(reminder, raw), defaults)
  const given = { thresholds: [4, 2], include: ['a*'], exclude: ['ab'], argumentsPreviewChars: 1, enabled: true }
  assert.deepEqual(value(reminder, given), given)
})

test('a configuration that was filled in means the same again', () => {
  for (const plugin of [reminder, limit]) {
    const filled = plugin.Config({})
    assert.deepEqual(plugin.Config(filled), filled)
  }
})

test('__proto__ is a name like any other', () => {
  const { limits } = limit.Config(JSON.parse('{"limits":{"__proto__":1,"constructor":2}}'))
  assert.deepEqual(Object.entries(limits), [
    ['__proto__', 1],
    ['constructor', 2],
  ])
  const { listeners } = install(limit, JSON.parse('{"limits":{"__proto__":0}}'))
  assert.throws(
    () => limit.Config(JSON.parse('{"limits":{"__proto__":-1}}')),
    /^ConfigurationError: \/limits\/__proto__: /,
  )
  return listeners['tools/pre-execute'](call({}, '__proto__'), () => assert.fail()).then((decision) =>
    assert.equal(decision.reason, NO_STEP.reason),
  )
})

test('all problems of a configuration are told in the words of the component, with paths', () => {
  assert.deepEqual(issues(reminder, { thresholds: [3, 1, 3], argumentsPreviewChars: 0, 'a/~b': 1 }), [
    { message: 'must be an integer >= 2', path: ['thresholds', 1] },
    { message: 'must not contain duplicates', path: ['thresholds', 2] },
    { message: 'must be an integer >= 1', path: ['argumentsPreviewChars'] },
    { message: 'unknown field', path: ['a/~b'] },
  ])
  assert.deepEqual(issues(limit, { limits: { '*': 1, 0: -1 }, onExceeded: 'maybe' }), [
    { message: 'must be a non-negative safe integer (0 to 9007199254740991)', path: ['limits', '0'] },
    { message: 'wildcards are not supported here: name each tool', path: ['limits', '*'] },
    { message: 'must be "deny" or "ask"', path: ['onExceeded'] },
  ])
  for (const raw of [7, 'thresholds: [3]', [], true]) {
    assert.deepEqual(issues(reminder, raw), [{ message: 'must be an object', path: [] }])
  }
})

test('what JSON would lose is refused, never dropped', () => {
  const lost = (what, ...path) => [{ message: `cannot be written as JSON: ${what}`, path }]
  assert.deepEqual(issues(limit, { limits: { a: undefined } }), lost('undefined', 'limits', 'a'))
  assert.deepEqual(issues(limit, { limits: { a: Number.NaN } }), lost('NaN', 'limits', 'a'))
  assert.deepEqual(issues(limit, { limits: { a: Number.POSITIVE_INFINITY } }), lost('Infinity', 'limits', 'a'))
  assert.deepEqual(issues(limit, { limits: new Map([['a', 1]]) }), lost('Map', 'limits'))
  assert.deepEqual(issues(limit, new Map()), lost('Map'))
  assert.deepEqual(issues(reminder, { thresholds: [3, undefined] }), lost('undefined', 'thresholds', 1))
})

test('a bad configuration throws before anything is registered', () => {
  for (const [plugin, config, path] of [
    [reminder, { thresholds: [1] }, '/thresholds/0'],
    [limit, { limits: { a: undefined } }, '/limits/a'],
  ]) {
    const ctx = { on: () => assert.fail('registered') }
    assert.throws(
      () => plugin.apply(ctx, config),
      (error) => error instanceof ConfigurationError && error.problems[0].path === path,
    )
    assert.throws(() => plugin.Config(config), ConfigurationError)
  }
})

test('each plugin registers exactly its listeners', () => {
  const first = { prepend: true }
  assert.deepEqual(install(limit, {}).options, {
    'agent/pre-step': first,
    'tools/pre-execute': first,
    'agent/disposed': undefined,
    'agent/turn-stopping': undefined,
    'agent/error': undefined,
  })
  assert.deepEqual(install(reminder).options, { 'tools/post-execute': undefined, 'agent/pre-step': undefined })
})

test('a slot is reserved at once, before next', async () => {
  const { listeners } = install(limit, { limits: { web_search: 1 } })
  const agent = {}
  const entered = Promise.resolve({ kind: 'enter', messages: [] })
  listeners['agent/pre-step'](proposal(agent), () => entered)
  const answers = []
  const reserve = () =>
    answers.push(listeners['tools/pre-execute'](call(agent), () => (reserve.next ??= Promise.resolve(ALLOW))))
  reserve()
  reserve()
  assert.equal(answers[0], reserve.next)
  assert.deepEqual(await Promise.all(answers), [ALLOW, EXCEEDED])
})

test('an allowed call gets what next answers, untouched, be it a promise or not', () => {
  const { listeners } = install(limit, { limits: {} })
  assert.equal(
    listeners['tools/pre-execute'](call({}), () => ALLOW),
    ALLOW,
  )
})

test('decisions have no further keys', async () => {
  const { listeners } = install(limit, { limits: { web_search: 1, rm: 0 }, onExceeded: 'ask' })
  const agent = {}
  listeners['agent/pre-step'](proposal(agent), () => ({ kind: 'enter' }))
  const decide = (name) => listeners['tools/pre-execute'](call(agent, name), () => ALLOW)
  assert.equal(decide('web_search'), ALLOW)
  assert.deepEqual(await decide('web_search'), { ...EXCEEDED, kind: 'ask' })
  assert.deepEqual(await decide('rm'), { kind: 'deny', reason: 'tool rm exceeded its per-step limit of 0' })
})

test('a proposal that is rejected or breaks is aborted', async () => {
  const broken = new Error('broken')
  for (const next of [
    () => ({ kind: 'reject' }),
    async () => ({ kind: 'reject' }),
    () => Promise.reject(broken),
    // biome-ignore lint/suspicious/noThenProperty: whatever can be awaited will do.
    () => ({ then: (_, refuse) => refuse(broken) }),
    () => {
      throw broken
    },
  ]) {
    const { listeners } = install(limit, { limits: { web_search: 1 } })
    const agent = {}
    try {
      assert.deepEqual(await listeners['agent/pre-step'](proposal(agent), next), { kind: 'reject' })
    } catch (error) {
      assert.equal(error, broken)
    }
    assert.deepEqual(await listeners['tools/pre-execute'](call(agent), () => ALLOW), NO_STEP)
  }
})

test('what throws at once goes on throwing at once', () => {
  const { listeners } = install(limit, { limits: { web_search: 1 } })
  const next = () => {
    throw new RangeError('at once')
  }
  assert.throws(() => listeners['agent/pre-step'](proposal({}), next), RangeError)
})

test('a late rejection does not abort a newer proposal with the same numbers', async () => {
  const { listeners } = install(limit, { limits: { web_search: 1 } })
  const agent = {}
  let reject
  const old = listeners['agent/pre-step'](proposal(agent), () => new Promise((resolve) => (reject = resolve)))
  listeners['agent/pre-step'](proposal(agent), () => ({ kind: 'enter' }))
  reject({ kind: 'reject' })
  await old
  assert.equal(
    listeners['tools/pre-execute'](call(agent), () => ALLOW),
    ALLOW,
  )
})

test('a step ends by an error of its own, by its turn, and with its agent', async () => {
  for (const [event, payload, ends] of [
    ['agent/error', { turn: 1, step: 1 }, true],
    ['agent/error', { turn: 1, step: 2 }, false],
    ['agent/turn-stopping', { turn: 1 }, true],
    ['agent/turn-stopping', { turn: 2 }, false],
    ['agent/disposed', {}, true],
  ]) {
    const { listeners } = install(limit, { limits: { web_search: 1 } })
    const agent = {}
    listeners['agent/pre-step'](proposal(agent), () => ({ kind: 'enter' }))
    assert.equal(listeners[event]({ agent, ...payload }), undefined)
    const decision = await listeners['tools/pre-execute'](call(agent), () => ALLOW)
    assert.deepEqual(decision, ends ? NO_STEP : ALLOW, event)
  }
})

test('calls are counted before next, and the notice stands first', async () => {
  const { listeners } = install(reminder, { thresholds: [2] })
  const agent = {}
  const downstream = Object.freeze({
    kind: 'block',
    feedback: ['no'],
    additionalContexts: Object.freeze(['theirs']),
    more: 1,
  })
  const order = []
  const next = async () => {
    order.push('next')
    return downstream
  }
  const post = () => listeners['tools/post-execute'](call(agent), { isError: false }, next)
  const [first, second] = await Promise.all([post(), post()])
  assert.deepEqual(order, ['next', 'next'])
  assert.equal(first, downstream)
  const [{ id, ...notice }, ...others] = second.additionalContexts
  assert.match(id, /^[0-9a-f-]{36}$/)
  assert.deepEqual(notice, {
    role: 'user',
    content: [
      {
        type: 'text',
        text: 'You keep repeating the exact same tool call. Study the result it already gave you before you call it again: if the task is not done yet, change your approach or the arguments.',
      },
    ],
    source: { kind: 'plugin', plugin: 'repeat-tool-reminder', form: 'notice', summary: 'web_search × 2' },
  })
  assert.deepEqual({ ...second, additionalContexts: others }, { ...downstream })
})

test("only a person's message in a step resets a chain, and the step is only delegated", async () => {
  const { listeners } = install(reminder, { thresholds: [2] })
  const agent = {}
  const next = Promise.resolve()
  const contexts = async () =>
    (await listeners['tools/post-execute'](call(agent), {}, async () => ({ kind: 'accept' }))).additionalContexts
      ?.length
  assert.equal(await contexts(), undefined)
  assert.equal(
    listeners['agent/pre-step'](proposal(agent, 2, 'plugin', 'user'), () => next),
    next,
  )
  assert.equal(await contexts(), undefined)
  assert.equal(
    listeners['agent/pre-step'](proposal(agent, 3, 'plugin'), () => next),
    next,
  )
  assert.equal(await contexts(), 1)
})

test('calls without an agent are not counted', async () => {
  const { listeners } = install(reminder, { thresholds: [2] })
  const accepted = { kind: 'accept' }
  for (let i = 0; i < 3; i++) {
    assert.equal(await listeners['tools/post-execute'](call(undefined), {}, async () => accepted), accepted)
  }
})

test('what the guard cannot do is logged, and calls are denied only where their tool is limited', async () => {
  const { listeners, warnings } = install(limit, { limits: { web_search: 1 } })
  const agent = {}
  listeners['agent/pre-step'](proposal(agent), () => ({ kind: 'enter' }))
  const huge = { text: 'x'.repeat(33 << 20) }
  const decide = (name) => listeners['tools/pre-execute'](call(agent, name, huge), () => ALLOW)
  assert.equal(decide('grep'), ALLOW)
  assert.deepEqual(await decide('web_search'), {
    kind: 'deny',
    reason:
      'the limit of tool web_search could not be checked: arguments: 34603019 bytes, and no text of more than 33554432 is sent',
  })
  assert.equal(warnings.length, 2)
  assert.equal(
    warnings[0],
    'tool-call-limit: pre-execute: arguments: 34603019 bytes, and no text of more than 33554432 is sent',
  )
  const advice = install(reminder, {})
  const accepted = { kind: 'accept' }
  assert.equal(
    await advice.listeners['tools/post-execute'](call(agent, 'grep', huge), {}, async () => accepted),
    accepted,
  )
  assert.equal(advice.warnings.length, 1)
})

test('what cannot be checked is denied by a limit of whatever kind', async () => {
  const huge = { text: 'x'.repeat(33 << 20) }
  for (const [config, denied] of [
    [{ turnLimits: { grep: 9 } }, true],
    [{ agentLimits: { grep: 9 } }, true],
    [{ totals: { turn: 9 } }, true],
    [{ totals: { agent: 9 }, enabled: false }, false],
    [{ totals: {} }, false],
    [{ turnLimits: { read: 9 } }, false],
  ]) {
    const { listeners } = install(limit, config)
    const agent = {}
    listeners['agent/pre-step'](proposal(agent), () => ({ kind: 'enter' }))
    const decision = await listeners['tools/pre-execute'](call(agent, 'grep', huge), () => ALLOW)
    assert.equal(decision.kind, denied ? 'deny' : 'allow', JSON.stringify(config))
  }
})

test('applied many times, each has a state of its own', async () => {
  const agent = {}
  const all = Array.from({ length: 100 }, () => install(limit, { limits: { web_search: 1 } }).listeners)
  for (const listeners of all) listeners['agent/pre-step'](proposal(agent), () => ({ kind: 'enter' }))
  for (const listeners of all)
    assert.equal(
      listeners['tools/pre-execute'](call(agent), () => ALLOW),
      ALLOW,
    )
})

test('an agent that nobody holds any more has ended', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const guard = createGuard({ repeatToolReminder: { thresholds: [2] } })
  const agents = new Agents(guard, assert.fail)
  const held = {}
  guard.postExecute(agents.call(call(held)), { status: 'succeeded' })
  const id = (() => {
    const lost = {}
    guard.postExecute(agents.call(call(lost)), { status: 'succeeded' })
    return agents.id(lost)
  })()
  assert.equal(guard.count(id), 1)
  for (let round = 0; round < 1000 && guard.count(id) > 0; round++) {
    collect()
    await new Promise(setImmediate)
  }
  assert.equal(guard.count(id), 0)
  assert.equal(guard.count(agents.id(held)), 1)
})
