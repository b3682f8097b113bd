// What can go wrong.

import type { Problem } from './contract.js'

/** A configuration was rejected, and nothing has changed. Its message is one line for each problem. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  /** The problems, at least one; of thousands, the first. */
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('\n'))
    this.problems = problems
  }
}

/** A snapshot was refused: it is damaged, of another version, or taken under another configuration. Nothing has changed. */
export class RestoreError extends Error {
  override readonly name = 'RestoreError'
  /** Why, in the words of the component. */
  readonly reason: string

  constructor(reason: string) {
    super(`the snapshot is refused: ${reason}`)
    this.reason = reason
  }
}

/**
 * A hook gave no answer.
 *
 * After a trap, or a memory limit, the instance is gone. The next call works on a fresh one with the same
 * configuration: all counts start anew, and a limited call is denied with the reason `per-step tool limit has no active
 * agent step` until its agent's next `step`. A text that is too long was not sent, and nothing has changed.
 */
export class CallError extends Error {
  override readonly name = 'CallError'
  /** The function of the contract that was called, for example `pre-execute`; or `instantiate`. */
  readonly hook: string
  /** What went wrong, without the hook. */
  readonly fault: string

  constructor(hook: string, fault: string, options?: ErrorOptions) {
    super(`${hook}: ${fault}`, options)
    this.hook = hook
    this.fault = fault
  }
}
