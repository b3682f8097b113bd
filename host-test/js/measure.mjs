// Measures what a call costs. It needs nothing of Node, so that a page measures in the same way.

/** The sizes of arguments that are measured, in bytes. */
const SIZES = { '300 B': 300, '4 KB': 4096 }

/** Calls in a batch, and batches: the first ones warm the engine up and do not count. */
const CALLS = 2000
const WARM_UP = 5
const BATCHES = 25

/**
 * The time of one call, its pre-execute and its post-execute, in microseconds: the median of the batches, for each size of
 * raw arguments, which differ from call to call. The configuration is the default, and a step was begun before.
 *
 * @param {import('./dist/public.js').CreateGuard} createGuard
 * @returns {Record<string, number>}
 */
export function cost(createGuard) {
  return Object.fromEntries(Object.entries(SIZES).map(([name, size]) => [name, median(batches(createGuard(), size))]))
}

function batches(guard, size) {
  guard.step({ agent: 'main', turn: 1, step: 1, prompted: true })
  const times = []
  for (let batch = 0; batch < WARM_UP + BATCHES; batch++) {
    const texts = Array.from({ length: CALLS }, (_, index) => argumentsOf(size, batch * CALLS + index))
    const begin = performance.now()
    for (const text of texts) {
      const call = { agent: 'main', id: 'call_1', name: 'edit_file', arguments: text }
      guard.preExecute(call)
      guard.postExecute(call, { status: 'succeeded' })
    }
    times.push(((performance.now() - begin) * 1000) / CALLS)
  }
  // Whoever has not looked at the arguments has counted.
  if (guard.count('main') !== 1) throw new Error('calls with different arguments were taken for equal')
  return times.slice(WARM_UP)
}

/** Raw arguments of exactly that many bytes, for each line others. */
export function argumentsOf(size, line) {
  const [begin, end] = [`{"path":"src/main.rs","line":${line},"text":"`, '"}']
  const length = size - begin.length - end.length
  return begin + 'lorem ipsum '.repeat(Math.ceil(length / 12)).slice(0, length) + end
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1]
}
