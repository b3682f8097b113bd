// The settings, and the configuration that they amount to.

import type { Problem } from 'loop-guard/core'
import { useEffect, useRef, useState } from 'preact/hooks'
import { BEYOND, type Field, recommendation, type Settings } from './configuration.js'
import { Foreign } from './text.js'

interface Properties {
  settings: Settings
  change: (settings: Settings) => void
  /** The configuration as JSON text. */
  config: string
  problems: readonly Problem[]
  /** The tools of the session. */
  tools: readonly string[]
}

/** What marks the field of a setting that has a problem. */
type Mark = (path: string) => { 'aria-invalid'?: true; 'aria-describedby'?: string }

export function Controls({ settings, change, config, problems, tools }: Properties) {
  const set = (changed: Partial<Settings>) => change({ ...settings, ...changed })
  const mark: Mark = (at) =>
    problems.some(({ path }) => path === at || path.startsWith(`${at}/`))
      ? { 'aria-invalid': true, 'aria-describedby': 'problems' }
      : {}
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <div class="settings">
        <fieldset>
          <legend>Remind the model at this many equal calls in a row</legend>
          <Thresholds thresholds={settings.thresholds} change={(thresholds) => set({ thresholds })} mark={mark} />
        </fieldset>
        <fieldset>
          <legend>Tools that are watched, a pattern a line</legend>
          <Patterns label="Only these" value={settings.include} change={(include) => set({ include })} />
          <Patterns label="Not these" value={settings.exclude} change={(exclude) => set({ exclude })} />
        </fieldset>
        <fieldset>
          <legend>Calls of a tool that may run in one step</legend>
          <Limits limits={settings.limits} tools={tools} change={(limits) => set({ limits })} mark={mark} />
          <label class="line">
            What exceeds a limit{' '}
            <select
              value={settings.onExceeded}
              onChange={({ currentTarget }) => set({ onExceeded: currentTarget.value === 'ask' ? 'ask' : 'deny' })}
            >
              <option value="deny">is denied</option>
              <option value="ask">is for a person to decide</option>
            </select>
          </label>
        </fieldset>
      </div>
      <Beyond texts={settings.beyond} change={(beyond) => set({ beyond })} mark={mark} />
      {problems.length > 0 && (
        <div role="alert" id="problems">
          <ul>
            {problems.map(({ path, message }) => (
              <li>
                {path !== '' && (
                  <code>
                    <Foreign text={path} />
                  </code>
                )}{' '}
                <Foreign text={message} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <details>
        <summary>The configuration</summary>
        <pre id="configuration">{config}</pre>
        <Copy text={config} isBad={problems.length > 0} />
      </details>
    </section>
  )
}

/** The span of a slider. The component takes thresholds from 2 on. */
const LOWEST = 2
const HIGHEST = 20

interface ThresholdsProperties {
  thresholds: number[]
  change: (thresholds: number[]) => void
  mark: Mark
}

function Thresholds({ thresholds, change, mark }: ThresholdsProperties) {
  const add = useRef<HTMLButtonElement>(null)
  // Three above the highest; where that is too high, the highest that is free.
  const free = Array.from({ length: HIGHEST - LOWEST + 1 }, (_, place) => HIGHEST - place).filter(
    (threshold) => !thresholds.includes(threshold),
  )
  const above = Math.max(...thresholds) + 3
  const next = free.includes(above) ? above : free[0]
  return (
    <>
      {thresholds.map((threshold, place) => (
        <div class="line">
          <input
            type="range"
            min={LOWEST}
            max={HIGHEST}
            value={threshold}
            aria-label={`Threshold ${place + 1}`}
            {...mark(`/repeatToolReminder/thresholds/${place}`)}
            onInput={({ currentTarget }) => change(thresholds.with(place, currentTarget.valueAsNumber))}
          />
          <output>{threshold}</output>
          <button
            type="button"
            aria-label={`Remove threshold ${place + 1}`}
            disabled={thresholds.length === 1}
            onClick={() => {
              // This button may go: the focus must not go with it.
              add.current?.focus()
              change(thresholds.toSpliced(place, 1))
            }}
          >
            ×
          </button>
        </div>
      ))}
      <button
        type="button"
        ref={add}
        aria-disabled={next === undefined}
        onClick={() => next !== undefined && change([...thresholds, next])}
      >
        Add a threshold
      </button>
    </>
  )
}

function Patterns({ label, value, change }: { label: string; value: string; change: (value: string) => void }) {
  return (
    <label>
      {label}
      <textarea
        rows={2}
        value={value}
        placeholder="*_status"
        spellcheck={false}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
    </label>
  )
}

interface LimitsProperties {
  limits: ReadonlyMap<string, string>
  tools: readonly string[]
  change: (limits: ReadonlyMap<string, string>) => void
  mark: Mark
}

function Limits({ limits, tools, change, mark }: LimitsProperties) {
  // A limit stays when another session is opened that lacks its tool.
  const named = [...tools, ...[...limits.keys()].filter((tool) => !tools.includes(tool))]
  return (
    <div class="limits">
      {named.map((tool) => (
        <label class="line" key={tool}>
          <input
            // A field of the type number would hide what is none.
            type="text"
            inputMode="numeric"
            placeholder="any"
            value={limits.get(tool) ?? ''}
            {...mark(`/toolCallLimit/limits/${tool.replaceAll('~', '~0').replaceAll('/', '~1')}`)}
            onInput={({ currentTarget }) => {
              const changed = new Map(limits)
              if (currentTarget.value === '') changed.delete(tool)
              else changed.set(tool, currentTarget.value)
              change(changed)
            }}
          />
          <span>
            <Foreign text={tool} />
          </span>
        </label>
      ))}
    </div>
  )
}

interface BeyondProperties {
  texts: Settings['beyond']
  change: (texts: Settings['beyond']) => void
  mark: Mark
}

function Beyond({ texts, change, mark }: BeyondProperties) {
  return (
    <details class="beyond">
      <summary>Beyond the two guards</summary>
      <p>
        All of it is off by default.{' '}
        <button type="button" onClick={() => change(recommendation())}>
          Recommended
        </button>{' '}
        <button type="button" onClick={() => change({})}>
          All off
        </button>
      </p>
      <div class="settings">
        {BEYOND.map(({ legend, fields }) => (
          <fieldset>
            <legend>{legend}</legend>
            {fields.map((field) => (
              <BeyondField
                field={field}
                text={texts[field.path] ?? ''}
                change={(text) => change({ ...texts, [field.path]: text })}
                mark={mark}
              />
            ))}
          </fieldset>
        ))}
      </div>
    </details>
  )
}

interface BeyondFieldProperties {
  field: Field
  text: string
  change: (text: string) => void
  mark: Mark
}

function BeyondField({ field: { path, label, kind, placeholder = '' }, text, change, mark }: BeyondFieldProperties) {
  if (typeof kind === 'object') {
    return (
      <label class="line">
        <input
          type="checkbox"
          checked={text !== ''}
          onInput={({ currentTarget }) => change(currentTarget.checked ? String(kind.ticked) : '')}
        />
        <span>{label}</span>
      </label>
    )
  }
  const isLong = kind === 'names'
  return (
    <label class={isLong ? '' : 'line'}>
      {isLong && label}
      <input
        type="text"
        class={kind}
        inputMode={kind === 'number' ? 'numeric' : 'text'}
        placeholder={placeholder}
        spellcheck={false}
        value={text}
        {...mark(path)}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      {!isLong && <span>{label}</span>}
    </label>
  )
}

/** How long it is said that something was copied, in milliseconds. */
const SAID = 4000

function Copy({ text, isBad }: { text: string; isBad: boolean }) {
  const [said, say] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => say(''), SAID)
    return () => clearTimeout(timer)
  }, [said])
  // What was copied is another text.
  useEffect(() => say(''), [text])
  const copy = async () => {
    const but = isBad ? ', but the guard rejects this configuration' : ''
    try {
      await navigator.clipboard.writeText(text)
      say(`Copied${but}`)
    } catch {
      // Some browsers give no clipboard to a page that was opened from a file.
      const configuration = document.getElementById('configuration')
      if (configuration !== null) getSelection()?.selectAllChildren(configuration)
      say(`Selected: copy it with the keyboard${but}`)
    }
  }
  return (
    <>
      {isBad && <p>The guard rejects this configuration: see the problems above.</p>}
      <p>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>{' '}
        <span role="status">{said}</span>
      </p>
    </>
  )
}
