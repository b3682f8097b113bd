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
  await page.click('text=Add a threshold')
  assert.deepEqual(await remarks(page), notices(2, 5))
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
  assert.deepEqual(faults, [])
})

test('what is recorded is shown, and never obeyed', async () => {
  const { page, faults } = await visit()
  const name = '<img src=x onerror=alert(1)>\u202e\u0007'
  const call = { id: '1', type: 'function', function: { name, arguments: '</script><b>' } }
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: '1', content: 'done' },
  ]
  const buffer = Buffer.from(JSON.stringify({ messages }))
  await choose(page, { name: '<i>odd.json', mimeType: 'application/json', buffer }, 'odd.json')
  assert.equal(await page.textContent('.tool'), '<img src=x onerror=alert(1)>\\u{202e}\\u{7}')
  assert.equal(await page.textContent('.call code'), '</script><b>')
  assert.equal(await page.locator('main img, main i, main b').count(), 0)
  await page.fill('.limits input', '0')
  assert.match(await page.textContent('[data-decision=deny]'), /exceeded its per-step limit of 0$/)
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
  assert.ok(sessions.length >= 115, `${sessions.length} sessions`)
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
