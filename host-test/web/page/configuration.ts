// What the controls say, and the configuration that it amounts to.

export interface Settings {
  thresholds: number[]
  /** Patterns for tool names, one a line. */
  include: string
  exclude: string
  limits: ReadonlyMap<string, number>
  onExceeded: 'deny' | 'ask'
}

/** The defaults of the component. */
export const DEFAULTS: Settings = {
  thresholds: [3, 5, 8],
  include: '',
  exclude: '',
  limits: new Map(),
  onExceeded: 'deny',
}

/** The configuration as JSON text, to be copied. */
export function configuration({ thresholds, include, exclude, limits, onExceeded }: Settings): string {
  const config = {
    repeatToolReminder: { thresholds, include: lines(include), exclude: lines(exclude) },
    // Entries, since a tool may have the name `__proto__`.
    toolCallLimit: { limits: Object.fromEntries(limits), onExceeded },
  }
  return JSON.stringify(config, undefined, 2)
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}
