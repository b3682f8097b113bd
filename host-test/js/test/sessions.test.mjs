// Every scripted session, as the runner exports them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { createGuard } from 'loop-guard'
import { replay } from './scripts.mjs'

const sessions = JSON.parse(readFileSync(new URL('../../build/sessions.json', import.meta.url), 'utf8'))

for (const session of sessions) {
  test(session.name, () => assert.deepEqual(replay(createGuard, session), []))
}

test('the replayer tells an answer that is not the expected one', () => {
  const call = { line: 7, action: 'call', agent: 'main', id: '1', tool: 'grep', arguments: '{}', outcome: 'succeeded' }
  const expected = { decision: { deny: 'no' }, notices: [] }
  const mismatches = replay(createGuard, { events: [{ ...call, expect: expected }] })
  assert.deepEqual(mismatches, [{ line: 7, expected, actual: { decision: 'allow', notices: [] } }])
})
