// Recorded text, as people can look at it.

/** The text with control characters, and those that change the direction of what follows, written as escapes. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}
