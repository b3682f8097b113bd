// What happened, agent by agent, and what the guard would have said to it.

import { useState } from 'preact/hooks'
import type { Call, Entry, Step, Timeline, Totals } from './replay.js'
import { Legend, Strip } from './strip.js'
import { Foreign, visibleLines } from './text.js'

interface Properties {
  timelines: readonly Timeline[]
  /** Whether newer ones are to come. */
  isOld: boolean
}

export function Timelines({ timelines, isOld }: Properties) {
  const sum = { calls: 0, notices: 0, denied: 0, asked: 0 }
  for (const { totals } of timelines) {
    for (const figure of FIGURES) sum[figure] += totals[figure]
  }
  const shown = timelines.slice(0, MOST_AGENTS)
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <p role="status" id="totals" aria-busy={isOld}>
        {said(sum)}
      </p>
      {timelines.some(({ isTrial }) => isTrial) && (
        <p>A trial: nothing is said or denied. The figures tell what would have been.</p>
      )}
      <Legend />
      {shown.map((timeline, place) => (
        <Agent
          key={`${place} ${timeline.agent.session} ${timeline.agent.id}`}
          timeline={timeline}
          open={place < OPEN_AGENTS}
        />
      ))}
      {timelines.length > shown.length && (
        <p>and {timelines.length - shown.length} agents more, which are counted but not shown</p>
      )}
    </section>
  )
}

const FIGURES = ['calls', 'notices', 'denied', 'asked'] as const

/** More than these make a page slow, and are nothing that people read: the command replays any number. */
const MOST_AGENTS = 200
const OPEN_AGENTS = 3

function said({ calls, notices, denied, asked }: Totals): string {
  return `${counted(calls, 'call')}, ${counted(notices, 'notice')}, ${denied} denied, ${asked} asked about`
}

function counted(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? '' : 's'}`
}

function Agent({ timeline, open }: { timeline: Timeline; open: boolean }) {
  const [isOpen, setOpen] = useState(open)
  const { agent, entries, totals } = timeline
  return (
    <details class="agent" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <h3>
          <Foreign text={agent.id === agent.session ? agent.session : `${agent.session} / ${agent.id}`} />
        </h3>{' '}
        <span class="faint">{said(totals)}</span>
      </summary>
      {isOpen && <Entries entries={entries} label={said(totals)} />}
    </details>
  )
}

/** More entries at once make a page slow. */
const MOST_ENTRIES = 500

/** The entries of an agent; of many, one stretch after the other. */
function Entries({ entries, label }: { entries: readonly Entry[]; label: string }) {
  const [chosen, choose] = useState(0)
  const stretches: Entry[][] = []
  for (let from = 0; from < entries.length; from += MOST_ENTRIES) {
    stretches.push(entries.slice(from, from + MOST_ENTRIES))
  }
  // Another session may be shorter.
  const at = Math.min(chosen, Math.max(stretches.length - 1, 0))
  const shown = stretches[at] ?? []
  return (
    <>
      {stretches.length > 1 && (
        <p class="stretches">
          <button type="button" aria-disabled={at === 0} onClick={() => choose(Math.max(at - 1, 0))}>
            Earlier
          </button>{' '}
          <label>
            Entries{' '}
            <select value={String(at)} onChange={({ currentTarget }) => choose(Number(currentTarget.value))}>
              {stretches.map((stretch, place) => (
                <option value={String(place)}>{titled(stretch, place)}</option>
              ))}
            </select>
          </label>{' '}
          <button
            type="button"
            aria-disabled={at === stretches.length - 1}
            onClick={() => choose(Math.min(at + 1, stretches.length - 1))}
          >
            Later
          </button>{' '}
          <span class="faint">What is shown can be searched and printed.</span>
        </p>
      )}
      <Strip entries={shown} label={stretches.length > 1 ? titled(shown, at) : label} />
      <ol class="entries">
        {folded(shown).map((part) => (Array.isArray(part) ? <Folded entries={part} /> : <Line entry={part} />))}
      </ol>
    </>
  )
}

/** Where a stretch is, and what there is to see in it. */
function titled(stretch: readonly Entry[], place: number): string {
  let [notices, refused] = [0, 0]
  for (const entry of stretch) {
    if (entry.kind !== 'call') continue
    notices += entry.notices.length
    if (entry.decision.kind !== 'allow') refused += 1
  }
  const from = place * MOST_ENTRIES
  return `${from + 1} to ${from + stretch.length}: ${counted(notices, 'notice')}, ${refused} denied or asked about`
}

/** Stretches in which nothing is repeated, and nothing said, are folded if they are longer than this. */
const LONGEST_UNFOLDED = 8

/** The entries, those that are folded as a list in their place. */
function folded(entries: readonly Entry[]): (Entry | Entry[])[] {
  const parts: (Entry | Entry[])[] = []
  let quiet: Entry[] = []
  const close = () => {
    if (quiet.length > LONGEST_UNFOLDED) parts.push(quiet)
    else parts.push(...quiet)
    quiet = []
  }
  for (const [place, entry] of entries.entries()) {
    if (isQuiet(entry, entries, place)) {
      quiet.push(entry)
    } else {
      close()
      parts.push(entry)
    }
  }
  close()
  return parts
}

function isQuiet(entry: Entry, entries: readonly Entry[], place: number): boolean {
  if (entry.kind === 'step') return true
  const next = entries.slice(place + 1, place + 4).find((entry) => entry.kind === 'call')
  const isRepeated = entry.run > 1 || (next?.kind === 'call' && next.run > 1)
  return !isRepeated && entry.decision.kind === 'allow' && entry.notices.length === 0
}

function Folded({ entries }: { entries: readonly Entry[] }) {
  const [isOpen, setOpen] = useState(false)
  const calls = entries.filter(({ kind }) => kind === 'call').length
  return (
    <li>
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{calls} calls that repeat nothing</summary>
        {isOpen && (
          <ol class="entries">
            {entries.map((entry) => (
              <Line entry={entry} />
            ))}
          </ol>
        )}
      </details>
    </li>
  )
}

function Line({ entry }: { entry: Entry }) {
  return entry.kind === 'step' ? <StepLine step={entry} /> : <CallLine entry={entry} />
}

function StepLine({ step: { turn, step, prompted } }: { step: Step }) {
  return (
    <li class="step">
      turn {turn}, step {step}
      {prompted && <strong> · a person’s message</strong>}
    </li>
  )
}

/** How much of the arguments a line shows. */
const ARGUMENTS_SHOWN = 200

function CallLine({ entry: { call, decision, status, notices, run } }: { entry: Call }) {
  const shown =
    call.arguments.length > ARGUMENTS_SHOWN ? `${call.arguments.slice(0, ARGUMENTS_SHOWN)}…` : call.arguments
  return (
    <li class="call" data-run={run}>
      <span class={`run ${run > 1 ? 'repeated' : ''}`} title={`the same call, ${run} times in a row`}>
        {run}
      </span>
      <span class="tool">
        <Foreign text={call.name} />
      </span>{' '}
      <code>
        <Foreign text={shown} />
      </code>{' '}
      <span class="faint">{status ?? 'no result'}</span>
      {decision.kind !== 'allow' && (
        <p class="refused-words" data-decision={decision.kind}>
          {decision.kind === 'deny' ? 'denied' : 'a person is asked'}: <Foreign text={decision.reason} />
        </p>
      )}
      {notices.map(({ summary, text }) => (
        <details class="notice-text">
          <summary>
            <span class="reminded">
              notice: <Foreign text={summary} />
            </span>
          </summary>
          <pre>{visibleLines(text)}</pre>
        </details>
      ))}
    </li>
  )
}
