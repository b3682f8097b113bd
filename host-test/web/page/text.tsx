// Recorded text, as people can look at it.

/** The text with control characters, and those that change its direction or break lines unseen, written as escapes. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}

/** The same of a text of several lines, which stay lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n')
}

/** Recorded text, whose direction does not reach the text around it. */
export function Foreign({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>
}
