// Prints what a call costs in Node, in microseconds, by the size of its arguments: one line of JSON.
import { createGuard } from 'loop-guard'
import { cost } from './measure.mjs'

console.log(
  JSON.stringify(cost(createGuard), (_, value) => (typeof value === 'number' ? Number(value.toFixed(2)) : value)),
)
