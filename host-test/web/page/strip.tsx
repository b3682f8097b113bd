// A picture of an agent's calls: a cell for each, those that are equal in a row in one colour, with marks for what the guard would have said.

import type { Call, Entry } from './replay.js'
import { visible } from './text.js'

const SIZE = 14
const GAP = 2
const COLUMNS = 60
/** Colours that the report has too: hues by lightness. */
const HUES = 12

export function Strip({ entries, label }: { entries: readonly Entry[]; label: string }) {
  const calls = entries.filter((entry): entry is Call => entry.kind === 'call')
  if (calls.length === 0) return null
  const rows = Math.ceil(calls.length / COLUMNS)
  const width = Math.min(calls.length, COLUMNS) * (SIZE + GAP)
  let colour = -1
  return (
    <svg class="strip" role="img" aria-label={label} viewBox={`0 0 ${width} ${rows * (SIZE + GAP)}`} width={width}>
      {calls.map((call, place) => {
        const isRepeated = call.run > 1 || (calls[place + 1]?.run ?? 1) > 1
        // The first may stand in the midst of a row.
        if (isRepeated && (call.run === 1 || place === 0)) colour += 1
        const x = (place % COLUMNS) * (SIZE + GAP)
        const y = Math.floor(place / COLUMNS) * (SIZE + GAP)
        return (
          <g transform={`translate(${x} ${y})`}>
            <title>{`${visible(call.call.name)}, ${call.run} in a row`}</title>
            <rect width={SIZE} height={SIZE} rx={2} class={isRepeated ? `c${colour % HUES} s0` : 'once'} />
            <Mark call={call} />
          </g>
        )
      })}
    </svg>
  )
}

/** What the marks of strips mean. */
export function Legend() {
  const marks = [
    ['the same call in a row, by colour', <rect width={SIZE} height={SIZE} rx={2} class="c0 s0" />],
    ['a call that repeats nothing', <rect width={SIZE} height={SIZE} rx={2} class="once" />],
    ['it failed', <path class="failed" d={FAILED} />],
    ['a notice follows', <circle class="notice-mark" cx={7} cy={7} r={4} />],
    ['denied, or a person is asked', <path class="refused-mark" d={REFUSED} />],
  ] as const
  return (
    <p class="key legend">
      {marks.map(([meaning, mark]) => (
        <span>
          <svg class="strip" aria-hidden="true" width={SIZE} height={SIZE}>
            {mark}
          </svg>
          {meaning}
        </span>
      ))}
    </p>
  )
}

const FAILED = 'M3 11 11 3'
const REFUSED = 'M3 3 11 11M11 3 3 11'

function Mark({ call: { decision, notices, status } }: { call: Call }) {
  if (decision.kind !== 'allow') return <path class="refused-mark" d={REFUSED} />
  if (notices.length > 0) return <circle class="notice-mark" cx={7} cy={7} r={4} />
  if (status === 'failed') return <path class="failed" d={FAILED} />
  return null
}
