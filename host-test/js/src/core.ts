// Makes guards from a component that jco has transpiled. It needs nothing of Node, so that a page can bundle it.

import type { instantiate } from '../build/loop-guard.js'
import { type CreateGuard, Guard, type Instance } from './guard.js'

export * from './public.js'

/**
 * What makes guards from a transpiled component.
 *
 * @param instantiateComponent the `instantiate` of `loop-guard/component`.
 * @param coreModule gives the compiled core module of that name, `loop-guard.core.wasm`. It is asked for each instance,
 * so that it should compile once.
 */
export function guardFactory(
  instantiateComponent: typeof instantiate,
  coreModule: (name: string) => WebAssembly.Module,
): CreateGuard {
  const start = (): Instance => {
    let memory: WebAssembly.Memory | undefined
    const functions = instantiateComponent(coreModule, {}, (module, imports) => {
      const instance = new WebAssembly.Instance(module, imports)
      memory = instance.exports.memory as WebAssembly.Memory
      return instance
    })
    return { functions, memory: () => memory?.buffer.byteLength ?? 0 }
  }
  return (config, limits) => new Guard(start, config ?? {}, limits ?? {})
}
