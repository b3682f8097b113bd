// Measures a guard in JavaScript beside the component in Node. Reads the texts as JSON from standard input, and prints JSON:
// times of a call in nanoseconds, and what each agent keeps in bytes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { component } from './component.mjs'
import { guard } from './javascript.mjs'
import { keptPerAgent, times } from './measure.mjs'

const TOOL = 'edit_file'

/** More text than the component keeps for all agents together. */
const RECENT_BYTES = 16 << 20
const RECENT_ENTRY_BYTES = 64

function calls({ shape, size, call, different }) {
  const texts = [call, different]
  const values = texts.map((text) => JSON.parse(text))
  const [a, b, c] = [guard(), guard(), guard()]
  const [d, e] = [component(), component()]
  const measured = times({
    different: (i) => a(TOOL, values[i & 1]),
    same: () => b(TOOL, values[0]),
    parsed: (i) => c(TOOL, JSON.parse(texts[i & 1])),
    jcoDifferent: (i) => d.call('main', TOOL, values[i & 1]),
    jcoSame: () => e.call('main', TOOL, values[0]),
  })
  // Whoever did not count has not done the work.
  assert.equal(a(TOOL, values[0]), 1)
  assert.ok(b(TOOL, values[0]) > 30)
  assert.equal(d.count('main'), 1)
  assert.ok(e.count('main') > 30)
  return { shape, size, ...measured }
}

/** Each agent makes one call, with arguments that no other has. */
function memory({ shape, size, call }, agents) {
  let number = 0
  const fresh = () => ({ ...JSON.parse(call), number: number++ })

  const guards = new Map()
  const first = (agent) => {
    guards.set(agent, guard())
    return guards.get(agent)(TOOL, fresh())
  }
  first('warm-up')
  const javascript = keptPerAgent(agents, first, () => 0)
  assert.equal(guards.size, agents + 1)
  guards.clear()

  const plugin = component()
  const recent = RECENT_BYTES / (call.length + RECENT_ENTRY_BYTES)
  for (let i = 0; i < recent; i++) plugin.call('warm-up', TOOL, fresh())
  const jco = keptPerAgent(agents, (agent) => plugin.call(agent, TOOL, fresh()), plugin.linearMemory)
  assert.equal(plugin.count('agent_0'), 1)
  return { shape, size, javascript, jco }
}

const texts = JSON.parse(readFileSync(0, 'utf8'))
const nested = (size) => texts.find((text) => text.shape === 'nested' && text.size === size)
console.log(
  JSON.stringify({
    calls: texts.map(calls),
    memory: [memory(nested('32 B'), 50_000), memory(nested('1 MB'), 100)],
  }),
)
