// A guard as one would write it in JavaScript: sort keys deeply, stringify, compare with the last call.

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const result = {}
  for (const key of Object.keys(value).sort()) result[key] = sorted(value[key])
  return result
}

/** The guard of one agent: it answers a call with how many times in a row that call has been made. */
export function guard() {
  let last
  let count = 0
  return (tool, value) => {
    const key = JSON.stringify([tool, JSON.stringify(sorted(value))])
    count = key === last ? count + 1 : 1
    last = key
    return count
  }
}
