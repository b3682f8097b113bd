// Brings a recorded session and a guard together: what the guard would have said, with the recorded results. An ask counts as approved.

import type { CreateGuard, Decision, Notice, Outcome, Stat, Status } from 'loop-guard/core'
import type { Agent, Recording, ToolCall } from './reader.js'

type Guard = ReturnType<CreateGuard>

/** What happened to one agent, in its order. */
export interface Timeline {
  agent: Agent
  entries: Entry[]
  totals: Totals
  /** Whether the totals tell what the guard would have said, and it said nothing. */
  isTrial: boolean
}

export type Entry = Step | Call

export interface Step {
  kind: 'step'
  turn: number
  step: number
  prompted: boolean
}

export interface Call {
  kind: 'call'
  call: ToolCall
  decision: Decision
  /** Undefined as long as the call has no outcome, which may be for ever. */
  status: Status | undefined
  notices: Notice[]
  /** How many times this very call has been made in a row, whatever the configuration. */
  run: number
}

export interface Totals {
  calls: number
  notices: number
  denied: number
  asked: number
}

/** Replays a recording through a guard that has seen nothing yet. */
export function replay({ agents, events }: Recording, guard: Guard): Timeline[] {
  const players = agents.map((agent) => new Player(agent, guard))
  for (const { agent, action } of events) {
    const player = players[agent]
    if (player === undefined) continue
    switch (action.tag) {
      case 'step':
        player.step({ kind: 'step', ...action.val })
        break
      case 'pre':
        player.begin(action.val)
        break
      case 'post':
        player.end(action.val.id, action.val.status, action.val.content)
        break
      case 'turn-ended':
        player.endTurn(action.val)
        break
    }
  }
  for (const player of players) player.denyWhatHasNoResult()
  // In a trial the guard says nothing, and tells afterwards what it would have said.
  if (JSON.parse(guard.describe()).observe) {
    const stats = new Map(guard.stats().map((stat) => [stat.agent, stat]))
    for (const player of players) player.try(stats.get(player.name))
  }
  return players.map(({ timeline }) => timeline)
}

/** What an agent got that the guard does not remember. */
const NOTHING: Stat = { agent: '', calls: 0, notices: 0, asks: 0, denials: 0, longest: 0, summary: '' }

/** The keys of calls: a session is replayed each time that a setting changes. */
const keys = new WeakMap<ToolCall, string>()

class Player {
  readonly timeline: Timeline
  readonly #guard: Guard
  readonly name: string
  /** The calls whose result has not come, by their ids. */
  readonly #running = new Map<string, Call>()
  /** The last call, by which to tell whether the next one equals it. */
  #last: { key: string; run: number } | undefined

  constructor(agent: Agent, guard: Guard) {
    this.timeline = { agent, entries: [], totals: { calls: 0, notices: 0, denied: 0, asked: 0 }, isTrial: false }
    this.#guard = guard
    this.name = JSON.stringify([agent.session, agent.id])
  }

  step(step: Step): void {
    this.denyWhatHasNoResult()
    this.#guard.step({ agent: this.name, turn: step.turn, step: step.step, prompted: step.prompted })
    this.timeline.entries.push(step)
  }

  begin(call: ToolCall): void {
    const decision = this.#guard.preExecute({ agent: this.name, ...call })
    const key = this.#key(call)
    const run = this.#last?.key === key ? this.#last.run + 1 : 1
    this.#last = { key, run }
    const entry: Call = { kind: 'call', call, decision, status: undefined, notices: [], run }
    this.#running.set(call.id, entry)
    this.timeline.entries.push(entry)
    const { totals } = this.timeline
    totals.calls += 1
    if (decision.kind === 'deny') totals.denied += 1
    if (decision.kind === 'ask') totals.asked += 1
  }

  /** Equal for equal calls, whatever the configuration. */
  #key(call: ToolCall): string {
    let key = keys.get(call)
    if (key === undefined) {
      key = JSON.stringify([call.name, this.#guard.canonical(call.arguments)])
      keys.set(call, key)
    }
    return key
  }

  end(id: string, recorded: Status, content: string): void {
    const entry = this.#running.get(id)
    if (entry === undefined) return
    this.#running.delete(id)
    const { call, decision } = entry
    const outcome: Outcome =
      decision.kind === 'deny' ? { status: 'denied', content: decision.reason } : { status: recorded, content }
    entry.status = outcome.status
    entry.notices = this.#guard.postExecute({ agent: this.name, ...call }, outcome)
    this.timeline.totals.notices += entry.notices.length
  }

  /** Takes the figures of a trial. */
  try({ notices, asks, denials }: Stat = NOTHING): void {
    this.timeline.isTrial = true
    Object.assign(this.timeline.totals, { notices, asked: asks, denied: denials })
  }

  endTurn(turn: number): void {
    this.denyWhatHasNoResult()
    this.#guard.turnEnded(this.name, turn)
  }

  /** A call that the guard denies has an outcome, even where the log has none. */
  denyWhatHasNoResult(): void {
    for (const [id, { decision }] of [...this.#running]) {
      if (decision.kind === 'deny') this.end(id, 'denied', '')
    }
  }
}
