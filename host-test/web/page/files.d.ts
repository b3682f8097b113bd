// What the bundler makes of files that are no scripts: their bytes.

declare module '*.wasm' {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}
declare module '*.jsonl' {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}
declare module '*.json' {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}
