// The page: a session, the settings, and what the guard would have said.

import { ConfigurationError, type CreateGuard, type Problem } from 'loop-guard/core'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { configuration, DEFAULTS } from './configuration.js'
import { Controls } from './controls.js'
import { EXAMPLES } from './examples.js'
import type { Contents, Read, Recording } from './reader.js'
import { replay, type Timeline } from './replay.js'
import { type File, Source } from './source.js'
import { Foreign } from './text.js'
import { Timelines } from './timeline.js'

export function App({ createGuard, read }: { createGuard: CreateGuard; read: Read }) {
  const [contents, setContents] = useState<Contents>(() => read(EXAMPLES.slice(0, 1)))
  const [reading, setReading] = useState<File[]>()
  const [settings, setSettings] = useState(DEFAULTS)

  // Reading blocks the page: it says first that it does.
  useEffect(() => {
    if (reading === undefined) return
    const timer = setTimeout(() => {
      setContents(read(reading))
      setReading(undefined)
    })
    return () => clearTimeout(timer)
  }, [reading, read])

  const tools = useMemo(() => toolsOf(contents), [contents])
  const events = contents.recordings.reduce((sum, { events }) => sum + events.length, 0)
  const config = configuration(settings)
  const replayed = useSettled(config, events > MANY_EVENTS ? PATIENCE : 0)
  const answer = useMemo(() => ask(createGuard, replayed, contents.recordings), [createGuard, replayed, contents])
  const [last, setLast] = useState<Timeline[]>([])
  useEffect(() => {
    if (answer.timelines !== undefined) setLast(answer.timelines)
  }, [answer])
  // While a configuration is wrong, the last one that was right stays in force.
  const timelines = answer.timelines ?? last

  return (
    <>
      <header>
        <h1>Loop guard</h1>
        <p>
          See what the guard would have told an agent, and which calls it would have denied. Everything runs in this
          page, and nothing leaves it.
        </p>
      </header>
      <main>
        <Source open={setReading} />
        <Unread contents={contents} reading={reading} />
        <Controls settings={settings} change={setSettings} config={config} problems={answer.problems} tools={tools} />
        <Timelines timelines={timelines} isOld={replayed !== config} />
      </main>
    </>
  )
}

/** A replay of more events is felt: it waits until a slider rests, so many milliseconds. */
const MANY_EVENTS = 5000
const PATIENCE = 200

/** A value, once it has not changed for some milliseconds. */
function useSettled<T>(value: T, patience: number): T {
  const [settled, settle] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => settle(value), patience)
    return () => clearTimeout(timer)
  }, [value, patience])
  return patience === 0 ? value : settled
}

interface Answer {
  timelines?: Timeline[]
  problems: readonly Problem[]
}

/** Replays the recordings under a configuration, each through a guard of its own; or says what is wrong with it. */
function ask(createGuard: CreateGuard, config: string, recordings: readonly Recording[]): Answer {
  try {
    return { timelines: recordings.flatMap((recording) => replay(recording, createGuard(config))), problems: [] }
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: error.problems }
    return { problems: [{ path: '', message: String(error) }] }
  }
}

/** The tools that were called, those that were called most first. */
function toolsOf({ recordings }: Contents): string[] {
  const calls = new Map<string, number>()
  for (const { events } of recordings) {
    for (const { action } of events) {
      if (action.tag === 'pre') calls.set(action.val.name, (calls.get(action.val.name) ?? 0) + 1)
    }
  }
  return [...calls].sort(([, a], [, b]) => b - a).map(([tool]) => tool)
}

/** What is being read, what could not be read, and what was. */
function Unread({ contents, reading }: { contents: Contents; reading: File[] | undefined }) {
  const skipped = contents.recordings.flatMap(({ file, skipped }) =>
    skipped.map(({ line, reason }) => ({ file: `${file}:${line}`, reason })),
  )
  const bad = [...contents.unread, ...skipped]
  return (
    <>
      <p role="status" class="faint" id="read">
        {reading !== undefined
          ? ['Reading ', <Names names={reading.map(({ name }) => name)} />, ' …']
          : contents.recordings.length > 0 && (
              <Names names={contents.recordings.map(({ file, title }) => `${file} (${title})`)} />
            )}
      </p>
      {bad.length > 0 && (
        <div role="alert" id="unread">
          <ul>
            {bad.slice(0, MOST_UNREAD).map(({ file, reason }) => (
              <li>
                <Foreign text={file} />: <Foreign text={reason} />
              </li>
            ))}
            {bad.length > MOST_UNREAD && <li>and {bad.length - MOST_UNREAD} more</li>}
          </ul>
        </div>
      )}
    </>
  )
}

const MOST_UNREAD = 10

/** Some names, and how many more there are. */
function Names({ names }: { names: readonly string[] }) {
  return (
    <>
      {names.slice(0, MOST_NAMES).map((name, place) => [place > 0 && ', ', <Foreign text={name} />])}
      {names.length > MOST_NAMES && ` and ${names.length - MOST_NAMES} more`}
    </>
  )
}

const MOST_NAMES = 5
