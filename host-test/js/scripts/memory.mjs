// Gives the memory of a core module an upper bound, which the engine then enforces.

const MEMORY_SECTION = 5
const PAGE = 1 << 16

/**
 * The same core module with its memory bounded.
 *
 * @param {Uint8Array} wasm a core module that defines one memory, as Rust makes them.
 * @param {number} bytes the bound, in bytes.
 */
export function boundMemory(wasm, bytes) {
  const sections = []
  let bounded = false
  for (let at = 8; at < wasm.length; ) {
    const id = wasm[at]
    const [size, start] = readNumber(wasm, at + 1)
    const end = start + size
    if (id === MEMORY_SECTION) {
      sections.push(section(wasm.subarray(start, end), bytes / PAGE))
      bounded = true
    } else {
      sections.push(wasm.subarray(at, end))
    }
    at = end
  }
  if (!bounded) throw new Error('the core module defines no memory')
  return Buffer.concat([wasm.subarray(0, 8), ...sections])
}

function section(content, pages) {
  const [memories, flags] = content
  if (memories !== 1 || flags > 1) throw new Error('the core module defines other than one plain memory')
  const [least] = readNumber(content, 2)
  const bounded = [1, 1, ...writeNumber(least), ...writeNumber(pages)]
  return Uint8Array.from([MEMORY_SECTION, ...writeNumber(bounded.length), ...bounded])
}

/** An unsigned number in LEB128, and where it ends. */
function readNumber(bytes, at) {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return [value, at]
  }
}

function writeNumber(value) {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...writeNumber(value >>> 7)]
}
