// What the controls say, and the configuration that it amounts to.

import recommended from '../../recommended.yaml'

export interface Settings {
  thresholds: number[]
  /** Patterns for tool names, one a line. */
  include: string
  exclude: string
  /** What is typed for each tool. */
  limits: ReadonlyMap<string, string>
  onExceeded: 'deny' | 'ask'
  /** What is typed, or ticked, for the fields beyond the two guards, by their paths. */
  beyond: Readonly<Record<string, string>>
}

/** The defaults of the component. */
export const DEFAULTS: Settings = {
  thresholds: [3, 5, 8],
  include: '',
  exclude: '',
  limits: new Map(),
  onExceeded: 'deny',
  beyond: {},
}

/** A field beyond the two guards. */
export interface Field {
  /** Where it stands in the configuration: a JSON Pointer. */
  path: string
  label: string
  /** How its text is read. What is ticked has one value only. */
  kind: 'number' | 'numbers' | 'names' | { ticked: string | boolean }
  placeholder?: string
}

const REMINDER = '/repeatToolReminder'
const TOTALS = '/toolCallLimit/totals'

/** The fields beyond the two guards, in groups. */
export const BEYOND: readonly { legend: string; fields: readonly Field[] }[] = [
  {
    legend: 'What is a repetition',
    fields: [
      { path: `${REMINDER}/results`, label: 'Results are compared, too', kind: { ticked: 'compare' } },
      {
        path: `${REMINDER}/ignoreResultFields`,
        label: 'Members of results that do not count',
        kind: 'names',
        placeholder: 'id, timestamp',
      },
      {
        path: `${REMINDER}/anyResultThresholds`,
        label: 'Remind at this many equal calls, whatever their results',
        kind: 'numbers',
        placeholder: 'never',
      },
      {
        path: `${REMINDER}/maxPeriod`,
        label: 'Longest cycle that is seen, in calls',
        kind: 'number',
        placeholder: '1',
      },
      { path: `${REMINDER}/siblings`, label: 'Equal calls of one step count once', kind: { ticked: 'once' } },
    ],
  },
  {
    legend: 'What follows from it',
    fields: [
      {
        path: `${REMINDER}/every`,
        label: 'After the highest threshold, remind each so many calls',
        kind: 'number',
        placeholder: 'never',
      },
      { path: `${REMINDER}/askAt`, label: 'Ask a person from this call on', kind: 'number', placeholder: 'never' },
      { path: `${REMINDER}/denyAt`, label: 'Deny from this call on', kind: 'number', placeholder: 'never' },
      {
        path: '/repeatedFailureReminder/thresholds',
        label: 'Remind at this many failures of a tool in a row',
        kind: 'numbers',
        placeholder: 'never',
      },
      { path: '/observe', label: 'A trial: all is counted, nothing is said or denied', kind: { ticked: true } },
    ],
  },
  {
    legend: 'Calls of all tools together',
    fields: [
      { path: `${TOTALS}/step`, label: 'in a step', kind: 'number', placeholder: 'any' },
      { path: `${TOTALS}/turn`, label: 'in a turn', kind: 'number', placeholder: 'any' },
      { path: `${TOTALS}/agent`, label: 'of an agent', kind: 'number', placeholder: 'any' },
    ],
  },
]

type Json = string | number | boolean | Json[] | { [name: string]: Json }

/** What the recommended configuration sets, as one would type it. */
export function recommendation(): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const { path } of BEYOND.flatMap(({ fields }) => fields)) {
    let value: unknown = recommended
    for (const name of path.split('/').slice(1)) value = (value as Record<string, unknown> | undefined)?.[name]
    if (value !== undefined) texts[path] = Array.isArray(value) ? value.join(', ') : String(value)
  }
  return texts
}

/** The configuration as JSON text, to be copied. */
export function configuration({ thresholds, include, exclude, limits, onExceeded, beyond }: Settings): string {
  const config: Json = {
    repeatToolReminder: { thresholds, include: lines(include), exclude: lines(exclude) },
    // Entries, since a tool may have the name `__proto__`.
    toolCallLimit: { limits: Object.fromEntries([...limits].map(([tool, text]) => [tool, number(text)])), onExceeded },
  }
  for (const { path, kind } of BEYOND.flatMap(({ fields }) => fields)) {
    const text = beyond[path] ?? ''
    if (text.trim() !== '') put(config, path, read(text, kind))
  }
  return JSON.stringify(config, undefined, 2)
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

function read(text: string, kind: Field['kind']): Json {
  if (typeof kind === 'object') return kind.ticked
  if (kind === 'number') return number(text)
  const parts = text.split(',').map((part) => part.trim())
  return kind === 'names' ? parts.filter((part) => part !== '') : parts.map(number)
}

/** A whole number; what is none stays a text, for the guard to say what is wrong with it. */
function number(text: string): number | string {
  return /^\s*-?\d+\s*$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text
}

function put(config: { [name: string]: Json }, path: string, value: Json): void {
  const names = path.split('/').slice(1)
  const last = names.pop() ?? ''
  let place = config
  for (const name of names) {
    place[name] ??= {}
    place = place[name] as { [name: string]: Json }
  }
  place[last] = value
}
