// What every entry of the package exports beside what makes guards.

export type { Decision, Needs, Notice, Outcome, Problem, Status, StepStart, ToolCall } from './contract.js'
export { CallError, ConfigurationError } from './errors.js'
export type { CreateGuard, Guard, Limits } from './guard.js'
