// Loop guard in Node: loads the component that comes with this package.

import { readFileSync } from 'node:fs'
import { instantiate } from '../build/loop-guard.js'
import { guardFactory } from './core.js'
import type { CreateGuard } from './guard.js'

export * from './public.js'

const modules = new Map<string, WebAssembly.Module>()

/** Compiles a core module once for all guards. */
function coreModule(name: string): WebAssembly.Module {
  let module = modules.get(name)
  if (module === undefined) {
    module = new WebAssembly.Module(readFileSync(new URL(`../build/${name}`, import.meta.url)))
    modules.set(name, module)
  }
  return module
}

/** Makes a guard from the component of this package. It is compiled when the first one is made. */
export const createGuard: CreateGuard = guardFactory(instantiate, coreModule)
