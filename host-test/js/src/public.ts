// What every entry of the package exports beside what makes guards.

export type { Decision, Event, Needs, Notice, Outcome, Problem, Stat, Status, StepStart, ToolCall } from './contract.js'
export { CallError, ConfigurationError, RestoreError } from './errors.js'
export type { CreateGuard, Guard, Limits } from './guard.js'
