// Recorded sessions that the page has with it.

import claudeCode from '../../recorded/claude-code/ordinary.jsonl'
import codex from '../../recorded/codex/ordinary.jsonl'
import eightSearches from '../../recorded/dsh/eight-searches-at-once.jsonl'
import patient from '../../recorded/dsh/patient-with-a-job.jsonl'
import stuck from '../../recorded/dsh/stuck-on-a-grep.jsonl'

export interface Example {
  about: string
  name: string
  bytes: Uint8Array
}

export const EXAMPLES: readonly Example[] = [
  { about: 'Stuck on a failing grep', name: 'stuck-on-a-grep.jsonl', bytes: stuck },
  { about: 'Eight searches in one step', name: 'eight-searches-at-once.jsonl', bytes: eightSearches },
  { about: 'Patient with a job: a poll that makes progress', name: 'patient-with-a-job.jsonl', bytes: patient },
  { about: 'A session of Claude Code', name: 'claude-code.jsonl', bytes: claudeCode },
  { about: 'A session of Codex CLI', name: 'codex.jsonl', bytes: codex },
]
