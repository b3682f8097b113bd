// The component as a host in Node uses it, transpiled by `npm run build` in host-test/js. Such a host has a call's arguments
// as a value, and makes a text of it for the guard.
import { readFileSync } from 'node:fs'
import { instantiate } from '../../js/build/loop-guard.js'

const modules = new Map()

/** Compiles a core module once for all instances. */
function coreModule(path) {
  if (!modules.has(path)) {
    modules.set(path, new WebAssembly.Module(readFileSync(new URL(`../../js/build/${path}`, import.meta.url))))
  }
  return modules.get(path)
}

/** An instance of its own, for any number of agents. */
export function component() {
  let memory
  const { guard, introspection } = instantiate(coreModule, {}, (module, imports) => {
    const instance = new WebAssembly.Instance(module, imports)
    memory = instance.exports.memory
    return instance
  })
  return {
    /** Reports a call that succeeded, and answers with the number of notices. */
    call(agent, tool, value) {
      const call = { agent, id: 'call_1', name: tool, arguments: JSON.stringify(value) }
      return guard.postExecute(call, { status: 'succeeded' }).length
    },
    count: introspection.count,
    /** The size of its linear memory in bytes. */
    linearMemory: () => memory.buffer.byteLength,
  }
}
