// A guard as one would write it in JavaScript: parse, sort keys deeply, stringify, compare with the last call. Reads the texts
// as JSON from standard input, and prints the time of a call in nanoseconds, with the parse and without it.
import { readFileSync } from 'node:fs'

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const result = {}
  for (const key of Object.keys(value).sort()) result[key] = sorted(value[key])
  return result
}

function guard() {
  let last
  let count = 0
  return (tool, value) => {
    const key = JSON.stringify([tool, JSON.stringify(sorted(value))])
    count = key === last ? count + 1 : 1
    last = key
    return count
  }
}

// The median of batches, each long enough for the clock.
function measure(call) {
  let times = 1
  let elapsed = 0
  while (elapsed < 20e6) {
    const begin = process.hrtime.bigint()
    for (let i = 0; i < times; i++) call(i)
    elapsed = Number(process.hrtime.bigint() - begin)
    if (elapsed < 20e6) times *= 2
  }
  const batches = []
  for (let batch = 0; batch < 15; batch++) {
    const begin = process.hrtime.bigint()
    for (let i = 0; i < times; i++) call(i)
    batches.push(Number(process.hrtime.bigint() - begin) / times)
  }
  return batches.sort((a, b) => a - b)[7]
}

const results = JSON.parse(readFileSync(0, 'utf8')).map(({ shape, size, call, different }) => {
  const texts = [call, different]
  const values = texts.map((text) => JSON.parse(text))
  const [a, b, c] = [guard(), guard(), guard()]
  return {
    shape,
    size,
    different: measure((i) => a('tool', values[i & 1])),
    same: measure(() => b('tool', values[0])),
    parsed: measure((i) => c('tool', JSON.parse(texts[i & 1]))),
  }
})
console.log(JSON.stringify(results))
