// Replays scripted sessions, as the runner exports them, against any guard. It needs nothing of Node.

/**
 * Runs a session against a fresh guard.
 *
 * @param {import('../dist/public.js').CreateGuard} createGuard
 * @param {object} session
 * @returns {{ line: number, expected: object, actual: object }[]} what was not answered as expected.
 */
export function replay(createGuard, session) {
  const guard = createGuard(session.config ?? '{}')
  const snapshots = new Map()
  const mismatches = []
  for (const event of session.events) {
    const actual = answer(guard, event, snapshots)
    const { line, expect: expected } = event
    if (!accepts(expected, actual)) mismatches.push({ line, expected, actual })
  }
  return mismatches
}

function answer(guard, event, snapshots) {
  const { agent, turn, step } = event
  switch (event.action) {
    case 'step':
      guard.step({ agent, turn, step, prompted: event.prompted })
      return {}
    case 'call': {
      const decision = guard.preExecute(call(event))
      const runs = decision.kind === 'allow' || (decision.kind === 'ask' && event.approved)
      const notices = post(guard, event, runs ? event.outcome : 'denied')
      return { decision: written(decision), notices }
    }
    case 'pre':
      return { decision: written(guard.preExecute(call(event))) }
    case 'post':
      return { notices: post(guard, event, event.outcome) }
    case 'step-aborted':
      guard.stepAborted(agent, turn, step)
      return {}
    case 'turn-ended':
      guard.turnEnded(agent, turn)
      return {}
    case 'agent-ended':
      guard.agentEnded(agent)
      return {}
    case 'configure':
      return { problems: problems(guard, event.config) }
    case 'noted':
      guard.noted(agent, event.event)
      return {}
    case 'snapshot':
      snapshots.set(event.name, guard.snapshot())
      return {}
    case 'restore':
      return { restored: restored(guard, damaged(snapshots.get(event.name), event)) }
    case 'stats':
      return { stats: guard.stats() }
    case 'count':
      return { count: guard.count(agent) }
    case 'canonical':
      return { text: guard.canonical(event.text) }
    case 'describe':
      return { json: JSON.parse(guard.describe()) }
    case 'explain':
      return { json: JSON.parse(guard.explain(event.tool)) }
    default:
      throw new Error(`line ${event.line}: no such action: ${event.action}`)
  }
}

const call = ({ agent, id, tool, arguments: text }) => ({ agent, id, name: tool, arguments: text })

const post = (guard, event, status) => guard.postExecute(call(event), { status, content: event.content })

/** A decision as sessions write it: `"allow"`, `{"deny": reason}` or `{"ask": reason}`. */
const written = ({ kind, reason }) => (kind === 'allow' ? kind : { [kind]: reason })

function problems(guard, config) {
  try {
    guard.configure(config)
    return []
  } catch (error) {
    if (error.problems === undefined) throw error
    return error.problems
  }
}

/** A copy of a snapshot that was cut, or in which a bit was flipped, as an event says. */
function damaged(snapshot, { keep, flip }) {
  const bytes = snapshot.slice(0, keep ?? snapshot.length)
  if (flip !== null && flip < bytes.length) bytes[flip] ^= 1
  return bytes
}

function restored(guard, bytes) {
  try {
    guard.restore(bytes)
    return 'accepted'
  } catch (error) {
    if (error.name !== 'RestoreError') throw error
    return { refused: error.reason }
  }
}

/** Whether an answer says what is expected. What an expected notice leaves out may be anything. */
function accepts({ notices: expected, ...others }, { notices: actual, ...answers }) {
  if (!equal(others, answers)) return false
  if (expected === undefined || actual === undefined) return expected === actual
  return (
    expected.length === actual.length &&
    expected.every((notice, index) => Object.entries(notice).every(([key, value]) => actual[index][key] === value))
  )
}

/** Whether two values that JSON can hold are equal, whatever the order of their members. */
function equal(a, b) {
  if (a === b) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  const keys = Object.keys(a)
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]))
  )
}
