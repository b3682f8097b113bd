// The contract's types, as a JavaScript host sees them, and the proof that the component's are the same.

import type * as Hooks from '../build/interfaces/loop-guard-plugin-guard.js'
import type * as Questions from '../build/interfaces/loop-guard-plugin-introspection.js'
import type * as Resuming from '../build/interfaces/loop-guard-plugin-resume.js'

/** A step that has been proposed for an agent. */
export interface StepStart {
  /** The agent: any string that names one live agent. A subagent is another agent. */
  agent: string
  /** The number of the turn, from 0 to 2³² − 1. */
  turn: number
  /** The number of the step within its turn, from 0 to 2³² − 1. */
  step: number
  /** Whether a *person's* message enters with this step. Notices and other injected context are no prompt. */
  prompted: boolean
}

/** A tool call that a model made. */
export interface ToolCall {
  /** The agent that owns the call, if the host has one for it. */
  agent?: string | null | undefined
  /** Pairs the call's two hooks; unique among the agent's calls in flight. */
  id: string
  /** The tool's name, exactly as the model wrote it. */
  name: string
  /**
   * The arguments. A string is their raw JSON text, exactly as the model wrote it, malformed or not; empty text stands for
   * `{}`. Anything else is a value, of which a text is made as `JSON.stringify` makes it. A value that is itself a string
   * must be sent as its JSON text. Prefer the raw text: `JSON.parse` has rounded long numbers in a value.
   */
  arguments: unknown
}

/** Whether a call may run, as far as the guard is concerned. */
export type Decision =
  | { kind: 'allow' }
  /** It must not. The reason is for the model. */
  | { kind: 'deny'; reason: string }
  /** A person decides, and is shown the reason. Where nobody can be asked, it is a denial. */
  | { kind: 'ask'; reason: string }

/** How a call ended: it succeeded; it failed or was cancelled; or it was denied, by anyone, and did not run. */
export type Status = 'succeeded' | 'failed' | 'denied'

/** A call's outcome. */
export interface Outcome {
  /** How the call ended. */
  status: Status
  /** The result as the model will see it. It is sent to the component only if the configuration needs it. */
  content?: string | null | undefined
}

/** Something that the model should be told, in a message of its own, after all results of the step. */
export interface Notice {
  /** Which plugin of the guard speaks, for example `repeat-tool-reminder`. */
  plugin: string
  /** One line for people, for example `grep × 3`. */
  summary: string
  /** The text for the model. */
  text: string
}

/** Something wrong in a configuration. */
export interface Problem {
  /** Where: a JSON Pointer (RFC 6901). Empty means the whole configuration. */
  path: string
  /** What is wrong, and what would be right. */
  message: string
}

/** What the configuration in force needs from the host. */
export interface Needs {
  /** Whether the guard looks at the content of outcomes. A `Guard` does not send it where it does not. */
  content: boolean
}

/** Something that happened to an agent beside its steps and calls: its context was compacted, or a person approved a call of it. */
export type Event = 'compacted' | 'approved'

/** What a guard has done to an agent; in a trial, what it would have done. */
export interface Stat {
  /** The agent. */
  agent: string
  /** Calls that have reached an outcome. */
  calls: number
  /** Notices. */
  notices: number
  /** Calls that a person was to decide about. */
  asks: number
  /** Calls that were denied. */
  denials: number
  /** The count of its longest streak: calls, or laps of a cycle. */
  longest: number
  /** That streak in one line; empty if no call was repeated. */
  summary: string
}

/** What these sources are written for. A component whose contract differs does not compile with them. */
interface Expected {
  guard: {
    configure(config: string): Needs
    step(start: StepStart): void
    preExecute(call: WireCall): WireDecision
    postExecute(call: WireCall, outcome: WireOutcome): Notice[]
    stepAborted(agent: string, turn: number, step: number): void
    turnEnded(agent: string, turn: number): void
    agentEnded(agent: string): void
    noted(agent: string, event: Event): void
  }
  introspection: {
    describe(): string
    canonical(text: string): string
    count(agent: string): number
    explain(tool: string): string
    stats(): Stat[]
  }
  resume: {
    snapshot(): Uint8Array
    restore(state: Uint8Array): void
  }
}

type WireCall = { agent?: string; id: string; name: string; arguments: string }
type WireDecision = { tag: 'allow' } | { tag: 'deny'; val: string } | { tag: 'ask'; val: string }
type WireOutcome = { status: Status; content?: string }

/** Whether two types accept each other's values; for objects, with every optional member in place. */
type Same<A, B> = [A, Required<A>] extends [B, Required<B>]
  ? [B, Required<B>] extends [A, Required<A>]
    ? true
    : false
  : false

/** A list of proofs. */
type Proven<T extends true[]> = T

/** Without meaning for a host: it does not compile when the component's contract is another. */
export type ContractIsTheComponents = Proven<
  [
    Same<Hooks.StepStart, StepStart>,
    Same<Hooks.ToolCall, WireCall>,
    Same<Hooks.Decision, WireDecision>,
    Same<Hooks.Status, Status>,
    Same<Hooks.Outcome, WireOutcome>,
    Same<Hooks.Notice, Notice>,
    Same<Hooks.Problem, Problem>,
    Same<Hooks.Needs, Needs>,
    Same<Hooks.Event, Event>,
    Same<Questions.Stat, Stat>,
    Same<typeof Hooks, Expected['guard']>,
    Same<typeof Questions, Expected['introspection']>,
    Same<typeof Resuming, Expected['resume']>,
  ]
>
