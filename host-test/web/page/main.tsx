// Puts the page together: compiles the guard and the readers, and hands them to it.

import { render } from 'preact'
import { App } from './app.js'
import { loadGuard } from './guard.js'
import { loadReaders } from './reader.js'
import './style.css'

const root = document.getElementById('page')
if (root === null) throw new Error('the page has lost its root')
try {
  const [createGuard, read] = await Promise.all([loadGuard(), loadReaders()])
  // For whoever wants to try the guard by hand in the console; the tests replay scripted sessions with it.
  Object.assign(globalThis, { loopGuard: { createGuard } })
  render(<App createGuard={createGuard} read={read} />, root)
} catch (error) {
  render(<p role="alert">This browser cannot run the guard: {String(error)}</p>, root)
}
