// The page to try the guard on, opened from its file in a real browser.
//
// LOOP_GUARD names the command, with which the page must agree; CHROMIUM the browser.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { launch, obstacles, open, overflow } from './browser.mjs'

const command = process.env.LOOP_GUARD ?? 'loop-guard'
const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const url = pathToFileURL(here('../dist/loop-guard.html')).href

let browser

before(async () => {
  browser = await launch()
})

after(async () => {
  await browser?.close()
})

/** The page, and what it says of its calls. */
async function visit(options) {
  const { page, faults } = await open(browser, url, options)
  await page.waitForSelector('#totals')
  return { page, faults, totals: () => page.textContent('#totals') }
}

/** The calls on which something is said, by their tool and how often they were made in a row. */
const remarks = (page) =>
  page.$$eval('.call', (calls) =>
    calls.flatMap((call) => {
      const said = [...call.querySelectorAll('.notice-text summary, [data-decision]')].map(
        (remark) => remark.textContent,
      )
      return said.length === 0 ? [] : [[call.querySelector('.tool').textContent, Number(call.dataset.run), ...said]]
    }),
  )

/** Chooses files, and waits until the page has said of the first that it was read, or why not. */
const choose = async (page, files, first) => {
  await page.setInputFiles('input[type=file]', files)
  await page.waitForFunction((first) => {
    const said = [document.getElementById('read'), document.getElementById('unread')].map(
      (element) => element?.textContent ?? '',
    )
    return said.some((text) => text.includes(first) && !text.startsWith('Reading'))
  }, first)
}

test('an example is open, and a threshold that is moved moves the notice', async () => {
  const { page, faults, totals } = await visit()
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')
  const notices = (...counts) => counts.map((count) => ['grep', count, `notice: grep × ${count}`])
  assert.deepEqual(await remarks(page), notices(3, 5, 8))
  assert.match(await page.textContent('.notice-text pre'), /repeating the exact same tool call/)

  await page.focus('input[aria-label="Threshold 1"]')
  await page.keyboard.press('ArrowRight')
  assert.deepEqual(await remarks(page), notices(4, 5, 8))
  for (const _ of [1, 2]) await page.keyboard.press('ArrowLeft')
  assert.deepEqual(await remarks(page), notices(2, 5, 8))

  await page.click('[aria-label="Remove threshold 3"]')
  await page.click('[aria-label="Remove threshold 2"]')
  assert.deepEqual(await remarks(page), notices(2))
  assert.ok(await page.isDisabled('[aria-label="Remove threshold 1"]'))
  // The focus is not lost with the button that went.
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Add a threshold')
  await page.click('text=Add a threshold')
  assert.deepEqual(await remarks(page), notices(2, 5))
  // None is added twice.
  const thresholds = () => page.$$eval('output', (outputs) => outputs.map((output) => Number(output.value)))
  for (let count = 2; count < 19; count++) await page.click('text=Add a threshold')
  assert.equal(await page.getAttribute('text=Add a threshold', 'aria-disabled'), 'true')
  assert.equal(new Set(await thresholds()).size, 19)
  assert.equal((await thresholds()).length, 19)
  assert.equal(await page.locator('#problems').count(), 0)
  assert.deepEqual(faults, [])
})

test('include and exclude say which tools are watched', async () => {
  const { page, totals } = await visit()
  await page.fill('text=Not these', 'list_*\ngr*p')
  assert.equal(await totals(), '10 calls, 0 notices, 0 denied, 0 asked about')
  await page.fill('text=Not these', 'list_*')
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')
  await page.fill('text=Only these', 'read_*')
  assert.equal(await totals(), '10 calls, 0 notices, 0 denied, 0 asked about')
})

test('a limit denies what exceeds it in a step, or asks', async () => {
  const { page, faults, totals } = await visit()
  await page.selectOption('select', { label: 'Eight searches in one step' })
  await page.waitForFunction(() => document.getElementById('read').textContent.startsWith('eight-searches'))
  const [before] = (await totals()).split(',')
  await page.fill('label:has-text("web_search") input', '6')
  const reason = 'tool web_search exceeded its per-step limit of 6'
  assert.deepEqual(await remarks(page), [
    ['web_search', 1, `denied: ${reason}`],
    ['web_search', 1, `denied: ${reason}`],
  ])
  assert.equal(await totals(), `${before}, 0 notices, 2 denied, 0 asked about`)
  await page.selectOption('select >> nth=1', 'ask')
  assert.deepEqual(await remarks(page), [
    ['web_search', 1, `a person is asked: ${reason}`],
    ['web_search', 1, `a person is asked: ${reason}`],
  ])
  assert.deepEqual(faults, [])
})

test('the configuration can be copied', async () => {
  const { page } = await visit()
  await page.fill('text=Not these', '*_status')
  await page.fill('label:has-text("grep") input', '2')
  await page.click('text=The configuration')
  const expected = {
    repeatToolReminder: { thresholds: [3, 5, 8], include: [], exclude: ['*_status'] },
    toolCallLimit: { limits: { grep: 2 }, onExceeded: 'deny' },
  }
  assert.deepEqual(JSON.parse(await page.textContent('#configuration')), expected)
  await page.click('button:has-text("Copy")')
  const status = page.locator('span[role=status]')
  await status.filter({ hasText: /./ }).waitFor()
  assert.match(await status.textContent(), /^(Copied|Selected: copy it with the keyboard)$/)
  // It is not said of another text, nor of one that is wrong, nor for ever.
  await page.fill('label:has-text("grep") input', 'two')
  await status.filter({ hasNotText: /./ }).waitFor({ state: 'attached' })
  await page.click('button:has-text("Copy")')
  await status.filter({ hasText: /, but the guard rejects this configuration$/ }).waitFor()
  await status.filter({ hasNotText: /./ }).waitFor({ state: 'attached', timeout: 10_000 })
})

test('what is typed is neither changed nor dropped: what is no number is a problem', async () => {
  const { page, faults } = await visit()
  const field = page.locator('label:has-text("grep") input')
  for (const text of ['1.5', '1e400', '-', '1e', '-1', ' ', '9007199254740993', '1000000000000000000000']) {
    await field.fill('')
    await field.pressSequentially(text)
    assert.equal(await field.inputValue(), text)
    assert.match(
      await page.textContent('#problems'),
      /^\/toolCallLimit\/limits\/grep must be a non-negative safe integer/,
      text,
    )
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
  }
  await field.fill('3')
  assert.equal(await page.locator('#problems').count(), 0)
  assert.equal(await field.getAttribute('aria-invalid'), null)
  assert.deepEqual(faults, [])
})

/** The configuration that is shown. */
const shownConfiguration = async (page) => JSON.parse(await page.textContent('#configuration'))

test('what goes beyond the two guards is set, in force and copied', async () => {
  const { page, faults, totals } = await visit()
  await page.click('text=Beyond the two guards')
  const fill = (label, text) => page.fill(`.beyond label:has-text("${label}") input`, text)
  await fill('remind each so many calls', '1')
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')
  await page.click('[aria-label="Remove threshold 3"]')
  assert.equal(await totals(), '10 calls, 5 notices, 0 denied, 0 asked about')
  await fill('Ask a person', '6')
  await fill('Deny from', '7')
  assert.equal(await totals(), '10 calls, 5 notices, 2 denied, 1 asked about')
  await page.check('text=A trial')
  assert.deepEqual(await remarks(page), [])
  assert.equal(await totals(), '10 calls, 5 notices, 2 denied, 1 asked about')
  await page.uncheck('text=A trial')
  await fill('Ask a person', '7')
  assert.match(await page.textContent('#problems'), /^\/repeatToolReminder\/(askAt|denyAt) /)
  await fill('Ask a person', '6')
  await page.check('text=Results are compared')
  await page.check('text=Equal calls of one step')
  await fill('Longest cycle', '9')
  assert.match(await page.textContent('#problems'), /^\/repeatToolReminder\/maxPeriod /)
  assert.equal(await page.getAttribute('label:has-text("Longest cycle") input', 'aria-invalid'), 'true')
  await fill('Longest cycle', '8')
  await fill('Members of results', 'id, a b')
  await fill('whatever their results', '40,20')
  await fill('failures of a tool', '4, 6')
  await fill('in a step', '5')
  await fill('in a turn', '6')
  await fill('of an agent', '7')
  assert.equal(await page.locator('#problems').count(), 0)
  const expected = {
    repeatToolReminder: {
      thresholds: [3, 5],
      include: [],
      exclude: [],
      results: 'compare',
      ignoreResultFields: ['id', 'a b'],
      anyResultThresholds: [40, 20],
      maxPeriod: 8,
      siblings: 'once',
      every: 1,
      askAt: 6,
      denyAt: 7,
    },
    toolCallLimit: { limits: {}, onExceeded: 'deny', totals: { step: 5, turn: 6, agent: 7 } },
    repeatedFailureReminder: { thresholds: [4, 6] },
  }
  assert.deepEqual(await shownConfiguration(page), expected)
  assert.match(await totals(), /, 4 denied,/)
  await fill('in a step', 'few')
  assert.match(await page.textContent('#problems'), /^\/toolCallLimit\/totals\/step /)
  await page.click('text=All off')
  assert.deepEqual(Object.keys(await shownConfiguration(page)), ['repeatToolReminder', 'toolCallLimit'])
  assert.equal(await page.locator('#problems').count(), 0)
  assert.deepEqual(faults, [])
})

test('one click takes the recommended configuration', async () => {
  const { page } = await visit()
  await page.click('text=Beyond the two guards')
  await page.click('button:has-text("Recommended")')
  const { repeatToolReminder, ...others } = parse(readFileSync(here('../../recommended.yaml'), 'utf8'))
  assert.deepEqual(others, {})
  const { thresholds, include, exclude, ...shown } = (await shownConfiguration(page)).repeatToolReminder
  assert.deepEqual(shown, repeatToolReminder)
  // A poll that makes progress is silent.
  await page.selectOption('select', { label: 'Patient with a job: a poll that makes progress' })
  await page.waitForFunction(() => document.getElementById('read').textContent.startsWith('patient'))
  assert.match(await page.textContent('#totals'), / 0 notices/)
})

test('of a session of 50,000 calls a stretch is shown, and all is counted', async () => {
  const CALLS = 50_000
  const { page, faults, totals } = await visit()
  const messages = [{ role: 'user', content: 'go' }]
  for (let id = 0; id < CALLS; id++) {
    // In each hundred, fifty equal calls and fifty others.
    const call = { name: 'grep', arguments: JSON.stringify({ id: id % 100 < 50 ? -1 : id }) }
    messages.push({ role: 'assistant', tool_calls: [{ id: `${id}`, type: 'function', function: call }] })
    messages.push({ role: 'tool', tool_call_id: `${id}`, content: 'done' })
  }
  const buffer = Buffer.from(JSON.stringify({ messages }))
  await choose(page, { name: 'long.json', mimeType: 'application/json', buffer }, 'long.json')
  assert.equal(await totals(), '50000 calls, 1500 notices, 0 denied, 0 asked about')
  const elements = () => page.evaluate(() => document.querySelectorAll('*').length)
  assert.ok((await elements()) < 6000, `${await elements()} elements`)

  // A step goes with each call here.
  assert.equal((await page.$$('.stretches option')).length, CALLS / 250)
  assert.equal(await page.textContent('.stretches option >> nth=1'), '501 to 1000: 6 notices, 0 denied or asked about')
  const first = () => page.textContent('.step >> nth=0')
  const start = await first()
  await page.click('button:has-text("Later")')
  assert.notEqual(await first(), start)
  assert.equal(await page.locator('.notice-text').count(), 6)
  await page.selectOption('.stretches select', String(CALLS / 250 - 1))
  assert.equal(await page.getAttribute('button:has-text("Later")', 'aria-disabled'), 'true')
  assert.ok((await elements()) < 6000, `${await elements()} elements`)

  // A slider that is moved is answered once it rests.
  await page.focus('input[aria-label="Threshold 3"]')
  for (let step = 0; step < 10; step++) await page.keyboard.press('ArrowRight')
  assert.equal(await page.textContent('output >> nth=2'), '18')
  await page.click('[aria-label="Remove threshold 3"]')
  await page.waitForFunction(() => document.getElementById('totals').textContent.startsWith('50000 calls, 1000'))
  await page.waitForSelector('#totals[aria-busy=false]')
  // A short session has one stretch.
  await page.selectOption('select', { label: 'Stuck on a failing grep' })
  await page.waitForFunction(() => document.getElementById('read').textContent.startsWith('stuck'))
  assert.equal(await page.locator('.stretches').count(), 0)
  assert.equal(await page.locator('.call').count(), 10)
  assert.deepEqual(faults, [])
})

test('problems are told in the words of the component, and the last answer stays', async () => {
  const { page, faults, totals } = await visit()
  await page.fill('input[aria-label="Threshold 2"]', '3')
  assert.equal(await page.textContent('#problems'), '/repeatToolReminder/thresholds/1 must not contain duplicates')
  await page.fill('label:has-text("grep") input', '-1')
  assert.deepEqual(await page.$$eval('#problems li', (items) => items.map((item) => item.textContent)), [
    '/repeatToolReminder/thresholds/1 must not contain duplicates',
    '/toolCallLimit/limits/grep must be a non-negative safe integer (0 to 9007199254740991)',
  ])
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')
  await page.fill('label:has-text("grep") input', '')
  await page.fill('input[aria-label="Threshold 2"]', '4')
  assert.equal(await page.locator('#problems').count(), 0)
  assert.deepEqual(faults, [])
})

test('what is no session says so, and what is pasted, dropped or compressed is read', async () => {
  const { page, faults, totals } = await visit()
  const grep = readFileSync(here('../../recorded/dsh/stuck-on-a-grep.jsonl'))
  await choose(
    page,
    [
      { name: 'shopping.txt', mimeType: 'text/plain', buffer: Buffer.from('eggs') },
      { name: 'empty.jsonl', mimeType: 'text/plain', buffer: Buffer.from('') },
    ],
    'shopping.txt',
  )
  assert.deepEqual(await page.$$eval('#unread li', (items) => items.map((item) => item.textContent)), [
    'shopping.txt: not a recorded session of a known format',
    'empty.jsonl: the file is empty',
  ])
  assert.equal(await totals(), '0 calls, 0 notices, 0 denied, 0 asked about')

  await page.click('text=Paste a session')
  await page.fill('details textarea', `${grep}`)
  await page.click('text=Read it')
  await page.waitForFunction(() => document.getElementById('read').textContent.startsWith('pasted'))
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')

  await choose(page, { name: 'grep.jsonl.gz', mimeType: 'application/gzip', buffer: gzipSync(grep) }, 'grep.jsonl.gz')
  assert.equal(await page.textContent('#read'), 'grep.jsonl.gz (DeepSeek Harness: session.jsonl)')
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')
  // It has two frames, as a log has that was compressed in pieces.
  await choose(page, here('stuck-on-a-grep.jsonl.zst'), '.zst')
  assert.equal(await page.textContent('#read'), 'stuck-on-a-grep.jsonl.zst (DeepSeek Harness: session.jsonl)')
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')

  const data = await page.evaluateHandle((text) => {
    const data = new DataTransfer()
    data.items.add(new File([text], 'dropped.jsonl'))
    return data
  }, `${grep}no line of a session\n`)
  await page.dispatchEvent('body', 'drop', { dataTransfer: data })
  await page.waitForFunction(() => document.getElementById('read').textContent.startsWith('dropped'))
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')
  assert.match(await page.textContent('#unread'), /^dropped\.jsonl:\d+: /)

  const dropped = await page.evaluateHandle((text) => {
    const data = new DataTransfer()
    data.setData('text/plain', text)
    return data
  }, `${grep}`)
  await page.dispatchEvent('body', 'drop', { dataTransfer: dropped })
  await page.waitForFunction(() => document.getElementById('read').textContent.startsWith('dropped text'))
  assert.equal(await totals(), '10 calls, 3 notices, 0 denied, 0 asked about')

  const many = Array.from({ length: 300 }, (_, place) => ({
    name: `${place}.jsonl`,
    mimeType: 'text/plain',
    buffer: Buffer.from(`${grep}`.replaceAll('stuck', `stuck-${place}`)),
  }))
  await choose(page, many, '0.jsonl')
  assert.match(await page.textContent('#read'), /^0\.jsonl \([^)]*\), .* and 295 more$/)
  assert.deepEqual(faults, [])
})

test('what is recorded is shown, and never obeyed', async () => {
  const { page, faults } = await visit()
  const name = '<img src=x onerror=alert(1)>\u202e\u0007\u200e\u200f\u061c\u2028'
  const call = { id: '1', type: 'function', function: { name, arguments: '</script><b>' } }
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: '1', content: 'done' },
  ]
  const buffer = Buffer.from(JSON.stringify({ messages }))
  await choose(page, { name: '<i>odd\u202e.json', mimeType: 'application/json', buffer }, '<i>odd')
  const shown = '<img src=x onerror=alert(1)>\\u{202e}\\u{7}\\u{200e}\\u{200f}\\u{61c}\\u{2028}'
  assert.equal(await page.textContent('.tool'), shown)
  assert.equal(await page.textContent('.tool bdi'), shown)
  assert.match(await page.textContent('#read bdi'), /^<i>odd\\u\{202e\}\.json/)
  assert.equal(await page.textContent('.call code'), '</script><b>')
  assert.equal(await page.locator('main img, main i, main b').count(), 0)
  await page.fill('.limits input', '0')
  assert.match(await page.textContent('[data-decision=deny]'), /exceeded its per-step limit of 0$/)
  await page.fill('.limits input', 'x')
  assert.ok((await page.textContent('#problems bdi')).includes('\\u{200e}'))
  await page.fill('.limits input', '')

  // In the text of a notice, too, which has lines of its own.
  const again = { id: '1', type: 'function', function: { name: 'grep', arguments: '"\u202e"' } }
  const turn = [{ role: 'assistant', tool_calls: [again] }, messages[2]]
  const rounds = Buffer.from(JSON.stringify({ messages: [messages[0], ...Array(5).fill(turn).flat()] }))
  await choose(page, { name: 'again.json', mimeType: 'application/json', buffer: rounds }, 'again.json')
  const text = await page.textContent('.notice-text pre >> nth=1')
  assert.ok(text.includes('\n- arguments: "\\u{202e}"\n'), text)
  assert.deepEqual(faults, [])
})

test('every recorded session is answered as the command answers it', async () => {
  const recorded = here('../../recorded')
  const files = readdirSync(recorded, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(events|md|meta\.json)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
  assert.ok(files.length > 100, `${files.length} files`)
  const out = execFileSync(command, ['replay', '--output', 'json', ...files], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  })
  const summaries = out.split('\n').flatMap((line) => (line.includes('"event":"summary"') ? [JSON.parse(line)] : []))

  const { page, faults, totals } = await visit()
  await choose(page, files, basename(files[0]))
  const sum = (figure) => summaries.reduce((sum, summary) => sum + summary[figure], 0)
  assert.ok(sum('notices') > 20, `${sum('notices')} notices`)
  assert.equal(await totals(), `${sum('calls')} calls, ${sum('notices')} notices, 0 denied, 0 asked about`)
  const count = (number, one) => `${number} ${one}${number === 1 ? '' : 's'}`
  const expected = summaries.map(({ session, agent, calls, notices }) => {
    const name = agent === session ? session : `${session} / ${agent}`
    return `${name} ${count(calls, 'call')}, ${count(notices, 'notice')}, 0 denied, 0 asked about`
  })
  const shown = await page.$$eval('.agent > summary', (agents) => agents.map((agent) => agent.textContent))
  assert.deepEqual(shown.toSorted(), expected.toSorted())
  assert.deepEqual(faults, [])
})

test('scripted sessions are answered in the page as everywhere', async (t) => {
  const { page, faults } = await visit()
  const sessions = JSON.parse(readFileSync(here('../../build/sessions.json'), 'utf8'))
  assert.ok(sessions.length >= 117, `${sessions.length} sessions`)
  const replay = readFileSync(here('../../js/test/scripts.mjs'), 'utf8').replace(
    'export function replay',
    'function replay',
  )
  await page.addScriptTag({
    content: `${replay}\nglobalThis.replaySession = (session) => replay(loopGuard.createGuard, session)`,
  })
  // As text: what passes values to a page loses members named `__proto__`.
  const answers = (session) => page.evaluate((text) => replaySession(JSON.parse(text)), JSON.stringify(session))
  for (const session of sessions) {
    await t.test(session.name, async () => {
      assert.deepEqual(await answers(session), [])
    })
  }
  // The replay itself can fail: with an expectation that no guard meets.
  const [first] = sessions
  const wrong = { ...first, events: [{ line: 1, action: 'canonical', text: '1.0', expect: { text: '1.0' } }] }
  assert.deepEqual(await answers(wrong), [{ line: 1, expected: { text: '1.0' }, actual: { text: '1' } }])
  assert.deepEqual(faults, [])
})

for (const colorScheme of ['light', 'dark']) {
  test(`nothing stands in the way of anybody, in the ${colorScheme}`, async () => {
    const { page, faults } = await visit({ colorScheme })
    await page.fill('label:has-text("grep") input', '0')
    await page.fill('input[aria-label="Threshold 1"]', '8')
    await page.waitForSelector('#problems')
    const { violations, passes } = await obstacles(page)
    assert.deepEqual(violations, [])
    assert.ok(passes > 15, `${passes} rules apply`)
    assert.deepEqual(faults, [])
  })
}

test('on a phone nothing runs out of the page', async () => {
  const { page } = await visit({ viewport: { width: 360, height: 740 } })
  await page.fill('label:has-text("grep") input', '0')
  assert.equal(await overflow(page), 0)
})
