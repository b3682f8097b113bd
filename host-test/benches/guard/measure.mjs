// How time and memory are measured in Node.

/** What a contestant runs before it counts, and then in each batch at least, in nanoseconds. */
const WARM_UP = 100e6
const BATCH = 10e6
const BATCHES = 15

/** What calls returned: kept, so that none can be optimised away. */
let consumed = 0

function batch(call, calls) {
  const begin = process.hrtime.bigint()
  for (let i = 0; i < calls; i++) consumed += call(i)
  return Number(process.hrtime.bigint() - begin)
}

/** Runs calls until they are compiled, and says how many of them make a batch: an even number, for those that alternate. */
function warmUp(call) {
  let calls = 2
  let spent = 0
  for (;;) {
    const elapsed = batch(call, calls)
    spent += elapsed
    if (elapsed < BATCH) calls *= 2
    else if (spent >= WARM_UP) return calls
  }
}

/**
 * The time of a call of each contestant in nanoseconds: the median of its batches. The contestants take turns, so that a noisy
 * moment meets all of them.
 */
export function times(contestants) {
  const runs = Object.entries(contestants).map(([name, call]) => ({ name, call, calls: warmUp(call), batches: [] }))
  for (let i = 0; i < BATCHES; i++) {
    for (const { call, calls, batches } of runs) batches.push(batch(call, calls) / calls)
  }
  const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1]
  return Object.fromEntries(runs.map(({ name, batches }) => [name, median(batches)]))
}

/**
 * How many bytes each of some agents leaves behind once it has made a call. `outside` says what is used outside of the heap
 * of JavaScript. Needs `node --expose-gc`.
 */
export function keptPerAgent(agents, call, outside) {
  const used = () => {
    // Some of what is garbage is found only the second time.
    gc()
    gc()
    return process.memoryUsage().heapUsed + outside()
  }
  const before = used()
  for (let i = 0; i < agents; i++) consumed += call(`agent_${i}`)
  return (used() - before) / agents
}
