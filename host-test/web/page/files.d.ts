// What the bundler makes of files that are no scripts: their bytes, and of YAML its value.

declare module '*.wasm' {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}
declare module '*.jsonl' {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}
declare module '*.yaml' {
  const value: unknown
  export default value
}
