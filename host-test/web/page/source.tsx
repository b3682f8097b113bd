// Where a session comes from: an example, files that are chosen or dropped, or text that is pasted.

import { useEffect, useState } from 'preact/hooks'
import { EXAMPLES } from './examples.js'

export interface File {
  name: string
  bytes: Uint8Array
}

export function Source({ open }: { open: (files: File[]) => void }) {
  const [pasted, setPasted] = useState('')
  const [fault, setFault] = useState('')
  const [example, setExample] = useState('0')

  const choose = async (list: Iterable<globalThis.File>) => {
    const files = [...list]
    if (files.length === 0) return
    try {
      const read = files.map(async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) }))
      open(await Promise.all(read))
      setFault('')
      setExample('')
    } catch (error) {
      setFault(
        `The browser cannot read it; of a folder, choose the files in it. (${error instanceof Error ? error.message : error})`,
      )
    }
  }

  const take = (text: string, name: string) => {
    open([{ name, bytes: new TextEncoder().encode(text) }])
    setFault('')
    setExample('')
  }

  useEffect(() => {
    const allow = (event: DragEvent) => event.preventDefault()
    const drop = (event: DragEvent) => {
      event.preventDefault()
      const files = event.dataTransfer?.files ?? []
      const text = event.dataTransfer?.getData('text/plain') ?? ''
      if (files.length === 0 && text !== '') take(text, 'dropped text')
      else void choose(files)
    }
    document.addEventListener('dragover', allow)
    document.addEventListener('drop', drop)
    return () => {
      document.removeEventListener('dragover', allow)
      document.removeEventListener('drop', drop)
    }
  })

  return (
    <section aria-labelledby="session">
      <h2 id="session">Session</h2>
      <div class="source">
        <label>
          Example{' '}
          <select
            value={example}
            onChange={({ currentTarget }) => {
              setExample(currentTarget.value)
              const chosen = EXAMPLES[Number(currentTarget.value)]
              if (currentTarget.value !== '' && chosen !== undefined) open([chosen])
            }}
          >
            {example === '' && <option value="">a session of yours</option>}
            {EXAMPLES.map(({ about }, place) => (
              <option value={String(place)}>{about}</option>
            ))}
          </select>
        </label>
        <label>
          Files; or drop them, or text, anywhere{' '}
          <input type="file" multiple onChange={({ currentTarget }) => void choose(currentTarget.files ?? [])} />
        </label>
      </div>
      <details>
        <summary>Paste a session</summary>
        <label>
          Its text
          <textarea
            rows={6}
            value={pasted}
            spellcheck={false}
            onInput={({ currentTarget }) => setPasted(currentTarget.value)}
          />
        </label>
        <button type="button" disabled={pasted.trim() === ''} onClick={() => take(pasted, 'pasted')}>
          Read it
        </button>
      </details>
      {fault !== '' && <p role="alert">{fault}</p>}
    </section>
  )
}
