// The settings, and the configuration that they amount to.

import type { Problem } from 'loop-guard/core'
import { useState } from 'preact/hooks'
import type { Settings } from './configuration.js'
import { visible } from './text.js'

interface Properties {
  settings: Settings
  change: (settings: Settings) => void
  /** The configuration as JSON text. */
  config: string
  problems: readonly Problem[]
  /** The tools of the session. */
  tools: readonly string[]
}

export function Controls({ settings, change, config, problems, tools }: Properties) {
  const set = (changed: Partial<Settings>) => change({ ...settings, ...changed })
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <div class="settings">
        <fieldset>
          <legend>Remind the model at this many equal calls in a row</legend>
          <Thresholds thresholds={settings.thresholds} change={(thresholds) => set({ thresholds })} />
        </fieldset>
        <fieldset>
          <legend>Tools that are watched, a pattern a line</legend>
          <Patterns label="Only these" value={settings.include} change={(include) => set({ include })} />
          <Patterns label="Not these" value={settings.exclude} change={(exclude) => set({ exclude })} />
        </fieldset>
        <fieldset>
          <legend>Calls of a tool that may run in one step</legend>
          <Limits limits={settings.limits} tools={tools} change={(limits) => set({ limits })} />
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
      {problems.length > 0 && (
        <div role="alert" id="problems">
          <ul>
            {problems.map(({ path, message }) => (
              <li>
                {path !== '' && <code>{visible(path)}</code>} {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      <details>
        <summary>The configuration</summary>
        <pre id="configuration">{config}</pre>
        <Copy text={config} />
      </details>
    </section>
  )
}

/** The span of a slider. The component takes thresholds from 2 on. */
const LOWEST = 2
const HIGHEST = 20

function Thresholds({ thresholds, change }: { thresholds: number[]; change: (thresholds: number[]) => void }) {
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
            onInput={({ currentTarget }) => change(thresholds.with(place, currentTarget.valueAsNumber))}
          />
          <output>{threshold}</output>
          <button
            type="button"
            aria-label={`Remove threshold ${place + 1}`}
            disabled={thresholds.length === 1}
            onClick={() => change(thresholds.toSpliced(place, 1))}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" onClick={() => change([...thresholds, Math.min(Math.max(...thresholds) + 3, HIGHEST)])}>
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
  limits: ReadonlyMap<string, number>
  tools: readonly string[]
  change: (limits: ReadonlyMap<string, number>) => void
}

function Limits({ limits, tools, change }: LimitsProperties) {
  // A limit stays when another session is opened that lacks its tool.
  const named = [...tools, ...[...limits.keys()].filter((tool) => !tools.includes(tool))]
  return (
    <div class="limits">
      {named.map((tool) => (
        <label class="line" key={tool}>
          <input
            type="number"
            min={0}
            inputMode="numeric"
            placeholder="any"
            value={limits.get(tool) ?? ''}
            onInput={({ currentTarget }) => {
              const changed = new Map(limits)
              if (Number.isNaN(currentTarget.valueAsNumber)) changed.delete(tool)
              else changed.set(tool, currentTarget.valueAsNumber)
              change(changed)
            }}
          />
          <span>{visible(tool)}</span>
        </label>
      ))}
    </div>
  )
}

function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState<string>()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied('Copied')
    } catch {
      // Some browsers give no clipboard to a page that was opened from a file.
      const configuration = document.getElementById('configuration')
      if (configuration !== null) getSelection()?.selectAllChildren(configuration)
      setCopied('Selected: copy it with the keyboard')
    }
  }
  return (
    <p>
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>{' '}
      <span role="status">{copied}</span>
    </p>
  )
}
