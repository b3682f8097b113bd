// The guard, from the same component as everywhere, inlined into the page.

import { instantiate } from 'loop-guard/component'
import coreModule from 'loop-guard/component.core.wasm'
import { type CreateGuard, guardFactory } from 'loop-guard/core'

/** Compiles the component; guards are then made at once. */
export async function loadGuard(): Promise<CreateGuard> {
  const compiled = await WebAssembly.compile(coreModule)
  return guardFactory(instantiate, () => compiled)
}
