// What a guard in JavaScript accepts, answers and refuses.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runInNewContext } from 'node:vm'
import { CallError, ConfigurationError, createGuard } from 'loop-guard'
import { instantiate } from 'loop-guard/component'
import { guardFactory } from 'loop-guard/core'
import { transpile } from '../scripts/transpile.mjs'

const OK = { status: 'succeeded' }
const MIB = 1 << 20
const call = (name, value = '{}', agent = 'main') => ({ agent, id: '1', name, arguments: value })
const begin = (guard, agent = 'main', step = 1) => guard.step({ agent, turn: 1, step, prompted: step === 1 })

/** The problems for which a configuration is rejected. */
function problems(config) {
  try {
    createGuard(config)
  } catch (error) {
    assert.ok(error instanceof ConfigurationError)
    return error.problems
  }
  return []
}

/** Checks that a hook fails, and how. */
function fails(hook, fault, action) {
  assert.throws(action, (error) => {
    assert.ok(error instanceof CallError, String(error))
    assert.deepEqual([error.name, error.hook, error.fault], ['CallError', hook, fault])
    assert.equal(error.message, `${hook}: ${fault}`)
    return true
  })
}

test('a repeated call is told, a call too many is denied or asked about', () => {
  const guard = createGuard({
    repeatToolReminder: { thresholds: [2, 3] },
    toolCallLimit: { limits: { grep: 2 }, onExceeded: 'ask' },
  })
  begin(guard)
  assert.deepEqual(guard.preExecute(call('grep')), { kind: 'allow' })
  assert.deepEqual(guard.postExecute(call('grep'), OK), [])
  assert.deepEqual(guard.preExecute(call('grep')), { kind: 'allow' })
  const [gentle] = guard.postExecute(call('grep'), { status: 'failed', content: 'no such file' })
  assert.deepEqual({ ...gentle, text: '' }, { plugin: 'repeat-tool-reminder', summary: 'grep × 2', text: '' })
  assert.match(gentle.text, /repeating the exact same tool call/)
  assert.deepEqual(guard.preExecute(call('grep')), {
    kind: 'ask',
    reason: 'tool grep exceeded its per-step limit of 2',
  })
  const [detailed] = guard.postExecute(call('grep'), { status: 'denied' })
  assert.match(
    detailed.text,
    /^Repeated tool call detected:\n- tool: grep\n- consecutive_calls: 3\n- arguments: \{\}\n/,
  )
  assert.equal(guard.count('main'), 3)
  guard.stepAborted('main', 1, 1)
  const denied = { kind: 'deny', reason: 'per-step tool limit has no active agent step' }
  assert.deepEqual(guard.preExecute(call('grep')), denied)
  begin(guard, 'main', 2)
  guard.turnEnded('main', 1)
  assert.deepEqual(guard.preExecute(call('grep')), denied)
  guard.agentEnded('main')
  assert.equal(guard.count('main'), 0)
  const homeless = { kind: 'deny', reason: 'per-step tool limit requires an agent context' }
  for (const agent of [undefined, null]) assert.deepEqual(guard.preExecute({ ...call('grep'), agent }), homeless)
})

test('without a configuration the defaults are in force', () => {
  const { repeatToolReminder, toolCallLimit, maxAgents } = JSON.parse(createGuard().describe())
  assert.deepEqual(repeatToolReminder.thresholds, [3, 5, 8])
  assert.deepEqual(toolCallLimit.limits, {})
  assert.equal(maxAgents, 100000)
  for (const none of ['{}', undefined, null]) assert.equal(createGuard(none).describe(), createGuard().describe())
})

test('arguments are equal as raw text and as a value', () => {
  const guard = createGuard()
  const equal = ['{"b":[1,"x"],"a":null}', ' { "a" : null, "b" : [1.0, "\\u0078"] } ', { a: null, b: [1, 'x'] }]
  for (const value of equal) guard.postExecute(call('grep', value), OK)
  assert.equal(guard.count('main'), 3)
  guard.postExecute(call('grep', ''), OK)
  guard.postExecute(call('grep', {}), OK)
  assert.equal(guard.count('main'), 2)
  // A value that is a string must be sent as its JSON text.
  guard.postExecute(call('grep', JSON.stringify('{}')), OK)
  assert.equal(guard.count('main'), 1)
})

test('a name for a limit, or for a member, may be __proto__', () => {
  const config = JSON.parse('{"toolCallLimit":{"limits":{"__proto__":0,"toString":0}}}')
  const guard = createGuard(config)
  assert.deepEqual(Object.entries(JSON.parse(guard.describe()).toolCallLimit.limits), [
    ['__proto__', 0],
    ['toString', 0],
  ])
  begin(guard)
  const reason = 'tool __proto__ exceeded its per-step limit of 0'
  assert.deepEqual(guard.preExecute(call('__proto__')), { kind: 'deny', reason })
  const value = JSON.parse('{"__proto__":{"x":1}}')
  guard.postExecute(call('grep', value), OK)
  guard.postExecute(call('grep', '{"__proto__":{"x":1}}'), OK)
  assert.equal(guard.count('main'), 2)
  guard.postExecute(call('grep', '{"__proto__":{"x":2}}'), OK)
  assert.equal(guard.count('main'), 1)
  assert.deepEqual(problems(JSON.parse('{"toolCallLimit":{"limits":{"__proto__":null}}}')), [
    { path: '/toolCallLimit/limits/__proto__', message: 'must be a non-negative safe integer (0 to 9007199254740991)' },
  ])
})

test('several guards at once do not mix', () => {
  const guards = [2, 3, 4].map((threshold) => createGuard({ repeatToolReminder: { thresholds: [threshold] } }))
  const due = Array.from({ length: 4 }, () => guards.map((guard) => guard.postExecute(call('grep'), OK).length))
  assert.deepEqual(due, [
    [0, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ])
  guards[0].configure({})
  assert.deepEqual(
    guards.map((guard) => guard.count('main')),
    [0, 4, 4],
  )
})

test('another configuration forgets all state, a rejected one changes nothing', () => {
  const guard = createGuard({ repeatToolReminder: { thresholds: [2] } })
  guard.postExecute(call('grep'), OK)
  const before = guard.describe()
  for (const bad of ['{"maxAgents":0}', { maxAgents: 0 }, { maxAgents: undefined }, 'not JSON', 7, null, undefined]) {
    assert.throws(() => guard.configure(bad), ConfigurationError)
  }
  assert.equal(guard.describe(), before)
  assert.equal(guard.count('main'), 1)
  assert.deepEqual(guard.configure({ maxAgents: 5 }), { content: false })
  assert.equal(guard.count('main'), 0)
})

test('a rejected configuration is one error with all its problems', () => {
  const config = { repeatToolReminder: { thresholds: [1], colour: 1 }, toolCallLimit: { limits: { 'a/b~c': -1 } } }
  const expected = [
    { path: '/repeatToolReminder/thresholds/0', message: 'must be an integer >= 2' },
    { path: '/repeatToolReminder/colour', message: 'unknown field' },
    { path: '/toolCallLimit/limits/a~1b~0c', message: 'must be a non-negative safe integer (0 to 9007199254740991)' },
  ]
  for (const given of [config, JSON.stringify(config)]) {
    assert.throws(() => createGuard(given), {
      name: 'ConfigurationError',
      problems: expected,
      message: [
        '/repeatToolReminder/thresholds/0: must be an integer >= 2',
        '/repeatToolReminder/colour: unknown field',
        '/toolCallLimit/limits/a~1b~0c: must be a non-negative safe integer (0 to 9007199254740991)',
      ].join('\n'),
    })
  }
  for (const given of ['[]', [], 7, true]) assert.throws(() => createGuard(given), { message: 'must be an object' })
})

test('what JSON would lose is rejected with its path, never dropped', () => {
  const sparse = [3]
  sparse.length = 2
  const cycle = {}
  cycle.again = cycle
  const named = Object.assign([3], { extra: 1 })
  class Limits {
    a = 1
  }
  for (const [lost, what, at = ''] of [
    [undefined, 'undefined'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    [() => 1, 'function'],
    [Symbol('s'), 'symbol'],
    [new Map([['a', 1]]), 'Map'],
    [new Set(['a']), 'Set'],
    [new Date(0), 'Date'],
    [/a/, 'RegExp'],
    [new Number(1), 'Number'],
    [new Uint8Array(2), 'Uint8Array'],
    [new Limits(), 'Limits'],
    [Object.create({ a: 1 }), 'Object'],
    [{ [Symbol('s')]: 1 }, 'a member named by a Symbol(s)'],
    [named, 'an array with members'],
    [sparse, 'undefined', '/1'],
    [cycle, 'a value that contains itself', '/again'],
    ['\ud800', 'half of a surrogate pair'],
    [{ toJSON: () => 1 }, 'function', '/toJSON'],
  ]) {
    const expected = { path: `/toolCallLimit/limits/~0a${at}`, message: `cannot be written as JSON: ${what}` }
    assert.deepEqual(problems({ toolCallLimit: { limits: { '~a': lost } } }), [expected])
  }
  const several = { repeatToolReminder: undefined, toolCallLimit: { limits: { a: Number.NaN, b: 1, c: new Set() } } }
  assert.deepEqual(
    problems(several).map(({ path }) => path),
    ['/repeatToolReminder', '/toolCallLimit/limits/a', '/toolCallLimit/limits/c'],
  )
  let deep = {}
  for (let level = 0; level < 100_000; level++) deep = { deep }
  assert.equal(problems(deep)[0].message, 'cannot be written as JSON: more than 128 levels')
})

test('what JSON can hold is accepted, whoever made it', () => {
  const bare = Object.assign(Object.create(null), { limits: Object.freeze({ a: 1, b: 2n, c: -0 }) })
  Object.defineProperty(bare, 'onExceeded', { value: 'ask', enumerable: false })
  const { limits, onExceeded } = JSON.parse(createGuard({ toolCallLimit: bare }).describe()).toolCallLimit
  assert.deepEqual({ limits, onExceeded }, { limits: { a: 1, b: 2, c: 0 }, onExceeded: 'ask' })
  assert.deepEqual(problems(runInNewContext('({ toolCallLimit: { limits: { a: 1 } }, maxAgents: null })')), [])
})

test('a bigint is written with all its digits, for the component to judge', () => {
  assert.deepEqual(problems({ toolCallLimit: { limits: { a: 2n ** 53n - 1n } } }), [])
  assert.deepEqual(problems({ toolCallLimit: { limits: { a: 2n ** 53n } } }), [
    { path: '/toolCallLimit/limits/a', message: 'must be a non-negative safe integer (0 to 9007199254740991)' },
  ])
})

test('half of a surrogate pair in the text of a configuration is a problem', () => {
  assert.deepEqual(problems('{"toolCallLimit":{"limits":{"\ud800":1}}}'), [
    { path: '', message: 'the text holds half of a surrogate pair' },
  ])
})

test('halves of surrogate pairs do no harm', () => {
  const guard = createGuard({ repeatToolReminder: { thresholds: [2] } })
  assert.equal(guard.canonical('"\ud800"'), '"\ufffd"')
  // As an escape it makes the text invalid: a string with that text.
  assert.equal(guard.canonical('"\\ud800"'), '"\\"\\\\ud800\\""')
  for (const value of [{ a: '\udc00' }, '{"a":"\udc00"}', '\ud83d']) {
    guard.postExecute(call('grep', value), OK)
    assert.equal(guard.count('main'), 1)
  }
  const odd = { agent: '\ud800', id: '\ud800', name: '\ud800', arguments: '' }
  guard.postExecute(odd, OK)
  assert.equal(guard.postExecute(odd, { status: 'failed', content: '\ud800' })[0].summary, '\ufffd × 2')
})

test('a byte order mark is a character like any other', () => {
  const guard = createGuard({ repeatToolReminder: { thresholds: [2] } })
  guard.postExecute(call('\ufeffgrep'), OK)
  assert.equal(guard.postExecute(call('\ufeffgrep'), OK)[0].summary, '\ufeffgrep × 2')
})

test('a text that is too long is not sent, and nothing changes', () => {
  const guard = createGuard({ repeatToolReminder: { thresholds: [3] } }, { text: 100 })
  guard.postExecute(call('grep', 'é'.repeat(50)), OK)
  const long = 'é'.repeat(51)
  const fault = (what) => `${what}: 102 bytes, and no text of more than 100 is sent`
  fails('post-execute', fault('arguments'), () => guard.postExecute(call('grep', long), OK))
  fails('pre-execute', fault('arguments'), () => guard.preExecute(call('grep', long)))
  fails('pre-execute', fault('name'), () => guard.preExecute(call(long)))
  fails('pre-execute', fault('agent'), () => guard.preExecute(call('grep', '', long)))
  fails('pre-execute', fault('id'), () => guard.preExecute({ ...call('grep'), id: long }))
  fails('step', fault('agent'), () => begin(guard, long))
  fails('step-aborted', fault('agent'), () => guard.stepAborted(long, 1, 1))
  fails('turn-ended', fault('agent'), () => guard.turnEnded(long, 1))
  fails('agent-ended', fault('agent'), () => guard.agentEnded(long))
  fails('canonical', fault('text'), () => guard.canonical(long))
  fails('count', fault('agent'), () => guard.count(long))
  fails('explain', fault('tool'), () => guard.explain(long))
  const config = JSON.stringify({ toolCallLimit: { limits: { ['x'.repeat(100)]: 1 } } })
  fails('configure', `configuration: ${config.length} bytes, and no text of more than 100 is sent`, () =>
    guard.configure(config),
  )
  // A result that the configuration does not need is not sent either.
  assert.deepEqual(guard.postExecute(call('grep', 'é'.repeat(50)), { ...OK, content: long }), [])
  assert.equal(guard.count('main'), 2)
})

test('by default no text of more than 32 MiB is sent', () => {
  const guard = createGuard()
  assert.equal(guard.canonical(' '.repeat(32 * MIB)).length, 32 * MIB + 2)
  // 33554432 bytes would be enough, were it not for the second half of the last character.
  const text = `${' '.repeat(32 * MIB - 3)}😀`
  fails('canonical', 'text: 33554433 bytes, and no text of more than 33554432 is sent', () => guard.canonical(text))
})

test('what the types do not allow is refused, and changes nothing', () => {
  const guard = createGuard()
  guard.postExecute(call('grep'), OK)
  const type = (message, action) => assert.throws(action, { name: 'TypeError', message })
  const range = (message, action) => assert.throws(action, { name: 'RangeError', message })
  type('pre-execute: name must be a string', () => guard.preExecute({ agent: 'main', id: '1', arguments: '' }))
  type('pre-execute: agent must be a string', () => guard.preExecute(call('grep', '', 7)))
  type('pre-execute: arguments cannot be written as JSON: undefined', () => guard.preExecute({ id: '1', name: 'grep' }))
  type('pre-execute: arguments cannot be written as JSON: Do not know how to serialize a BigInt', () =>
    guard.preExecute(call('grep', { id: 1n })),
  )
  type('post-execute: status must be one of succeeded, failed, denied', () =>
    guard.postExecute(call('grep'), { status: 'ok' }),
  )
  type('count: agent must be a string', () => guard.count())
  for (const prompted of ['false', 0, null, undefined]) {
    type('step: prompted must be a boolean', () => guard.step({ agent: 'main', turn: 1, step: 1, prompted }))
  }
  for (const turn of [-1, 1.5, 2 ** 32, Number.NaN, '1', undefined]) {
    range('step: turn must be a whole number from 0 to 4294967295', () =>
      guard.step({ agent: 'main', turn, step: 1, prompted: true }),
    )
    range('turn-ended: turn must be a whole number from 0 to 4294967295', () => guard.turnEnded('main', turn))
  }
  range('step-aborted: step must be a whole number from 0 to 4294967295', () => guard.stepAborted('main', 1, -1))
  assert.equal(guard.count('main'), 1)
  guard.step({ agent: 'main', turn: 2 ** 32 - 1, step: 2 ** 32 - 1, prompted: false })
})

test('limits that are none are refused', () => {
  const type = (message, limits) => assert.throws(() => createGuard({}, limits), { name: 'TypeError', message })
  const range = (message, limits) => assert.throws(() => createGuard({}, limits), { name: 'RangeError', message })
  for (const bytes of [Number.NaN, 0, -1]) range('limits: text must be more than 0', { text: bytes })
  range('limits: memory must be more than 0', { memory: Number.NaN })
  for (const bytes of ['1000', null, 10n]) type('limits: memory must be a number', { memory: bytes })
  type('limits: unknown field txt', { txt: 1000 })
  for (const limits of [null, {}, { text: undefined }, { text: Number.POSITIVE_INFINITY }]) createGuard({}, limits)
})

const stubFolder = mkdtempSync(join(tmpdir(), 'loop-guard-stub-'))
after(() => rmSync(stubFolder, { recursive: true }))

/** Guards of the stub, which misbehaves in calls of certain tools. */
async function stub() {
  await transpile(fileURLToPath(new URL('../../build/stub.wasm', import.meta.url)), stubFolder)
  const { instantiate } = await import(pathToFileURL(join(stubFolder, 'loop-guard.js')))
  const module = new WebAssembly.Module(readFileSync(join(stubFolder, 'loop-guard.core.wasm')))
  return guardFactory(instantiate, () => module)
}

test('after a trap the next call works on a fresh instance', async () => {
  const guard = (await stub())('{"any":"thing"}')
  assert.deepEqual(guard.preExecute(call('grep')), { kind: 'allow' })
  for (let round = 0; round < 3; round++) {
    fails('pre-execute', 'the component trapped: unreachable', () => guard.preExecute(call('trap')))
    assert.equal(guard.memory, 0)
    assert.deepEqual(guard.postExecute(call('grep'), OK), [])
    assert.ok(guard.memory > 0)
    fails('post-execute', 'the component trapped: unreachable', () => guard.postExecute(call('trap'), OK))
    assert.deepEqual(guard.preExecute(call('grep')), { kind: 'allow' })
  }
})

test('a result is sent if the configuration needs it', async () => {
  const guard = (await stub())({}, { text: 10 })
  const fault = 'content: 11 bytes, and no text of more than 10 is sent'
  fails('post-execute', fault, () => guard.postExecute(call('grep'), { ...OK, content: 'eleven long' }))
  assert.deepEqual(guard.postExecute(call('grep'), { ...OK, content: 'ten enough' }), [])
})

test('an instance that takes memory for ever is stopped', async () => {
  const createStub = await stub()
  const guard = createStub()
  fails('pre-execute', 'the component wanted more than 1073741824 bytes of memory', () =>
    guard.preExecute(call('allocate')),
  )
  assert.deepEqual(guard.preExecute(call('grep')), { kind: 'allow' })
  const small = createStub({}, { memory: 16 * MIB })
  fails('post-execute', 'the component wanted more than 16777216 bytes of memory', () =>
    small.postExecute(call('allocate'), OK),
  )
  assert.deepEqual(small.postExecute(call('grep'), OK), [])
})

test('an instance that has grown beyond its limit is thrown away', () => {
  const guard = createGuard({}, { memory: 4 * MIB })
  guard.postExecute(call('grep'), OK)
  const fault = 'the component wanted more than 4194304 bytes of memory'
  fails('canonical', fault, () => guard.canonical('x'.repeat(8 * MIB)))
  assert.equal(guard.count('main'), 0)
  fails('configure', 'the component wanted more than 65536 bytes of memory', () => createGuard({}, { memory: 65536 }))
})

test('after a fault counts start anew, with the same configuration', () => {
  const module = new WebAssembly.Module(readFileSync(new URL('../build/loop-guard.core.wasm', import.meta.url)))
  const trapping = (...imports) => {
    const { guard, introspection } = instantiate(...imports)
    const turnEnded = () => {
      throw new WebAssembly.RuntimeError('unreachable')
    }
    return { guard: { ...guard, turnEnded }, introspection }
  }
  const guard = guardFactory(trapping, () => module)({ toolCallLimit: { limits: { grep: 1 } } })
  const before = guard.describe()
  begin(guard)
  guard.preExecute(call('grep'))
  guard.postExecute(call('grep'), OK)
  fails('turn-ended', 'the component trapped: unreachable', () => guard.turnEnded('main', 1))
  assert.equal(guard.count('main'), 0)
  assert.equal(guard.describe(), before)
  assert.deepEqual(guard.preExecute(call('grep')), {
    kind: 'deny',
    reason: 'per-step tool limit has no active agent step',
  })
  begin(guard)
  assert.deepEqual(guard.preExecute(call('grep')), { kind: 'allow' })
})

test('an instance that cannot be replaced is a fault of every call', () => {
  const module = new WebAssembly.Module(readFileSync(new URL('../build/loop-guard.core.wasm', import.meta.url)))
  let starts = 0
  const once = (...imports) => {
    if (++starts > 1) throw new RangeError('out of memory')
    return { ...instantiate(...imports), introspection: {} }
  }
  const guard = guardFactory(once, () => module)()
  assert.throws(() => guard.count('main'), { message: /^count: the component trapped: / })
  const fault = 'no fresh instance could be started: instantiate: the component trapped: out of memory'
  for (let round = 0; round < 2; round++) fails('explain', fault, () => guard.explain('grep'))
})
