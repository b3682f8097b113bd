// Our reminder and the original side by side: random sequences of calls and steps get the same answers, but for the wording of
// the texts; and each difference that is meant, told literally.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as original from '@deepseek-ai/dsh-repeat-tool-reminder'
import * as ours from '../dist/dsh/repeat-tool-reminder.js'

const SEQUENCES = 4000
const EVENTS = 40

/** Numbers that look random, and are the same each time (mulberry32). */
function random(seed) {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound) => Math.floor(next() * bound)
  const pick = (values) => values[below(values.length)]
  const shuffled = (values) =>
    values
      .map((value) => [next(), value])
      .sort(([a], [b]) => a - b)
      .map(([, value]) => value)
  return { below, pick, shuffled, list: (most, make) => Array.from({ length: below(most + 1) }, make) }
}

/** Installs a plugin as Cordis does: with its configuration checked first. */
function install({ Config, apply }, raw) {
  const listeners = {}
  apply({ on: (event, listener) => (listeners[event] = listener) }, Config['~standard'].validate(raw).value)
  return {
    post: (exec, decision) => listeners['tools/post-execute'](exec, { isError: false }, async () => decision),
    step: (payload) => listeners['agent/pre-step'](payload, () => 'delegated'),
  }
}

const NAMES = ['grep', 'Grep', 'read_file', 'mcp__fs.read', 'mcp__fs_read', 'a+b', '$HOME', '工具', '😀', '']
const PATTERNS = ['*', 'grep', 'GREP', 'mcp__*', '*read*', 'mcp__fs.read', '*.*', 'a+b', '$*', '工*', '😀', '', 'x*']
// No member looks like an integer (C2), has the name __proto__ (C5) or holds half of a surrogate pair (C7); nothing is deep (C6).
const MEMBERS = ['path', 'pattern', 'a', 'b', 'é', 'z😀', '', 'toString', 'constructor']
const SCALARS = [
  0,
  1,
  -1,
  0.1,
  1e21,
  1e-7,
  123456789012,
  true,
  false,
  null,
  '',
  'TODO',
  'q"\\\n\u0001\u2028é',
  'x'.repeat(70),
]

function value({ below, pick, list }, depth) {
  const kind = depth === 0 ? 2 : below(4)
  if (kind === 0) return Object.fromEntries(list(3, () => [pick(MEMBERS), value({ below, pick, list }, depth - 1)]))
  if (kind === 1) return list(3, () => value({ below, pick, list }, depth - 1))
  return pick(SCALARS)
}

/** The same value with the members of its objects in another order. */
function reordered(value, shuffled) {
  if (Array.isArray(value)) return value.map((element) => reordered(element, shuffled))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(shuffled(Object.entries(value)).map(([key, member]) => [key, reordered(member, shuffled)]))
}

function configuration({ below, pick, shuffled, list }) {
  const config = { thresholds: shuffled([2, 3, 4, 5, 7]).slice(0, 1 + below(4)) }
  if (below(3) === 0) config.include = list(3, () => pick(PATTERNS))
  if (below(3) === 0) config.exclude = list(2, () => pick(PATTERNS))
  if (below(2) === 0) config.argumentsPreviewChars = 1 + below(60)
  return config
}

/** Whether a preview of that many characters would cut a surrogate pair in two (R6). */
function splitsPair({ argumentsPreviewChars: most = 500 }, values) {
  const sorted = (entries) => entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return values.some((each) => /[\ud800-\udbff]/.test(JSON.stringify(reordered(each, sorted)).charAt(most - 1)))
}

/** A decision without what may differ: the ids of notices, and the wording of their texts. */
function comparable(decision) {
  const additionalContexts = decision.additionalContexts?.map((context) => {
    if (typeof context === 'string') return context
    const { id, content, ...others } = context
    assert.equal(typeof id, 'string')
    const [{ text, ...block }, ...more] = content
    assert.deepEqual(more, [])
    const detailed = text.startsWith('Repeated tool call detected:\n')
    assert.equal(text.includes('repeating the exact same tool call'), !detailed)
    return { ...others, block, told: detailed ? text.slice(0, text.lastIndexOf('\n')) : 'gentle' }
  })
  return { ...decision, additionalContexts }
}

function decision({ pick, list }) {
  const contexts = list(2, () => 'theirs')
  const additional = contexts.length > 0 ? { additionalContexts: contexts } : {}
  return pick([
    { kind: 'accept', ...additional },
    { kind: 'accept', content: ['replaced'], ...additional },
    { kind: 'block', feedback: ['no'], ...additional },
  ])
}

test(`${SEQUENCES} random sequences get the same answers`, async () => {
  const noticed = { gentle: 0, detailed: 0 }
  for (let seed = 1, sequences = 0; sequences < SEQUENCES; seed++) {
    const rng = random(seed)
    const config = configuration(rng)
    const [name, other] = [rng.pick(NAMES), rng.pick(NAMES)]
    const values = [value(rng, 3), value(rng, 2), 'not { JSON']
    if (splitsPair(config, values)) continue
    sequences++
    const agents = [{}, {}, undefined]
    const [left, right] = [install(ours, config), install(original, config)]
    for (let event = 0; event < EVENTS; event++) {
      const agent = rng.pick([agents[0], agents[0], agents[0], ...agents])
      if (rng.below(12) === 0 && agent !== undefined) {
        const kinds = rng.list(2, () => rng.pick(['user', 'plugin', 'plugin']))
        const step = { agent, turn: 1, step: event, messages: kinds.map((kind) => ({ source: { kind } })) }
        assert.equal(left.step(step), right.step(step))
        continue
      }
      const called = rng.below(8) === 0 ? rng.pick(values) : values[0]
      const exec = {
        callId: `call_${event}`,
        name: rng.below(8) === 0 ? other : name,
        arguments: reordered(called, rng.shuffled),
        agent,
      }
      const downstream = decision(rng)
      const [mine, theirs] = [await left.post(exec, downstream), await right.post(exec, downstream)]
      assert.deepEqual(comparable(mine), comparable(theirs), `seed ${seed}, event ${event}`)
      for (const { told } of comparable(mine).additionalContexts ?? []) {
        if (told !== undefined) noticed[told === 'gentle' ? told : 'detailed']++
      }
    }
  }
  // Whoever never reminds has nothing to compare.
  assert.ok(noticed.gentle > 5000 && noticed.detailed > 5000, JSON.stringify(noticed))
})

/** What the last of some calls is told: the summary and the arguments of its notice, or nothing. */
async function told(plugin, calls, config = {}) {
  const { post } = install(plugin, config)
  const agent = {}
  let last
  for (const [name, text] of calls) {
    last = await post({ callId: '1', name, arguments: JSON.parse(text), agent }, { kind: 'accept' })
  }
  const [notice] = last.additionalContexts ?? []
  if (notice === undefined) return 'nothing'
  const [, preview] = /^- arguments: (.*)$/m.exec(notice.content[0].text) ?? []
  return preview === undefined ? notice.source.summary : `${notice.source.summary}: ${preview}`
}

const repeated = (times, name, text) => Array(times).fill([name, text])
const DETAILED = { thresholds: [2, 3] }

test('C2: members that look like integers are quoted as text sorts them, the original as numbers', async () => {
  const calls = repeated(3, 'grep', '{"b":1,"10":2,"9":3}')
  assert.equal(await told(ours, calls, DETAILED), 'grep × 3: {"10":2,"9":3,"b":1}')
  assert.equal(await told(original, calls, DETAILED), 'grep × 3: {"9":3,"10":2,"b":1}')
})

test('C4: DeepSeek Harness has rounded numbers before either sees them', async () => {
  const calls = [
    ['grep', '{"id":9007199254740992}'],
    ['grep', '{"id":9007199254740993}'],
  ]
  assert.equal(await told(ours, calls, { thresholds: [2] }), 'grep × 2')
  assert.equal(await told(original, calls, { thresholds: [2] }), 'grep × 2')
})

test('C5: a member named __proto__ counts, the original drops it', async () => {
  const calls = [
    ['grep', '{"__proto__":1}'],
    ['grep', '{"__proto__":2}'],
  ]
  assert.equal(await told(ours, calls, { thresholds: [2] }), 'nothing')
  assert.equal(await told(original, calls, { thresholds: [2] }), 'grep × 2')
})

test('C6: arguments that are nested too deeply are compared as text, the original sorts them', async () => {
  const deep = (inner) => `${'['.repeat(127)}${inner}${']'.repeat(127)}`
  const calls = [
    ['grep', deep('{"a":1,"b":2}')],
    ['grep', deep('{"b":2,"a":1}')],
  ]
  assert.equal(await told(ours, calls, { thresholds: [2] }), 'nothing')
  assert.equal(await told(original, calls, { thresholds: [2] }), 'grep × 2')
})

test('C7: arguments with half of a surrogate pair are compared as text, the original sorts them', async () => {
  const calls = [
    ['grep', '{"a":"\\ud800","b":2}'],
    ['grep', '{"b":2,"a":"\\ud800"}'],
  ]
  assert.equal(await told(ours, calls, { thresholds: [2] }), 'nothing')
  assert.equal(await told(original, calls, { thresholds: [2] }), 'grep × 2')
})

test('R6: a preview never ends in half of a surrogate pair, the original splits it', async () => {
  const calls = repeated(3, 'grep', '"a😀b"')
  const config = { ...DETAILED, argumentsPreviewChars: 3 }
  assert.equal(await told(ours, calls, config), 'grep × 3: "a… (+4 more chars)')
  assert.equal(await told(original, calls, config), 'grep × 3: "a\ud83d… (+3 more chars)')
})

test('R8: a star matches line breaks as well, in the original it does not', async () => {
  const calls = repeated(2, 'run\nall', '{}')
  const config = { thresholds: [2], include: ['run*'] }
  assert.equal(await told(ours, calls, config), 'run\nall × 2')
  assert.equal(await told(original, calls, config), 'nothing')
})

test('a misspelled field is refused, the original ignores it', () => {
  const validate = ({ Config }) => Config['~standard'].validate({ treshold: [2] })
  assert.deepEqual(validate(ours), { issues: [{ message: 'unknown field', path: ['treshold'] }] })
  assert.equal(validate(original).issues, undefined)
})
