// The readers of recorded sessions: the runner's own, compiled to wasm.

import type { Contents } from '../build/interfaces/loop-guard-page-reader.js'
import coreModule from '../build/readers.core.wasm'
import { instantiate } from '../build/readers.js'

export type {
  Agent,
  Contents,
  Ending,
  Event,
  Recording,
  StepStart,
  ToolCall,
} from '../build/interfaces/loop-guard-page-reader.js'

/** Reads files: what holds recorded sessions, and why the others could not be read. */
export type Read = (files: { name: string; bytes: Uint8Array }[]) => Contents

/** Compiles the readers. */
export async function loadReaders(): Promise<Read> {
  const compiled = await WebAssembly.compile(coreModule)
  return (files) => {
    // An instance for each time: its memory goes with it.
    const { reader } = instantiate(() => compiled, {})
    try {
      return reader.read(files)
    } catch (error) {
      const reason = `the reader broke off (${error instanceof Error ? error.message : error}): is it too large for a page?`
      return { recordings: [], unread: files.map(({ name }) => ({ file: name, reason })) }
    }
  }
}
