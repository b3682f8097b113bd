// The page that --report writes, in a real browser: it renders without errors, shows the numbers that --output json has, and can be used by
// keyboard, by screen reader, in the dark, on a phone and on paper.
//
// LOOP_GUARD names the command, CHROMIUM the browser.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { launch, obstacles, open, overflow } from './browser.mjs'

const command = process.env.LOOP_GUARD ?? 'loop-guard'
const recorded = fileURLToPath(new URL('../../recorded', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'loop-guard-'))
let browser

// Runs a command with a page beside its JSON lines. A limit, so that there are denials.
function run(name) {
  const page = join(folder, `${name}.html`)
  const config = fileURLToPath(new URL('report.yaml', import.meta.url))
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 }
  const out = execFileSync(command, [name, '--config', config, '--output', 'json', '--report', page, recorded], options)
  return {
    url: pathToFileURL(page).href,
    lines: out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  }
}

// The cells of the rows that match, by the names of their figures; what else names a row is its key.
const rows = (page, selector) =>
  page.$$eval(selector, (rows) =>
    rows.map((row) => ({
      ...row.dataset,
      figures: Object.fromEntries(
        [...row.querySelectorAll('[data-figure]')].map((cell) => [cell.dataset.figure, cell.textContent]),
      ),
    })),
  )

before(async () => {
  browser = await launch()
})

after(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true })
})

test('each number of replay --output json stands in the page', async () => {
  const { url, lines } = run('replay')
  const { page, faults } = await open(browser, url)
  const summaries = lines.filter((line) => line.event === 'summary')
  const shown = await rows(page, '#session-table tbody tr')
  assert.ok(summaries.length > 100, `${summaries.length} summaries`)
  assert.equal(shown.length, summaries.length)
  const key = (row) => JSON.stringify([row.file, row.session, row.agent])
  const byKey = new Map(shown.map((row) => [key(row), row.figures]))
  assert.equal(byKey.size, shown.length)
  for (const summary of summaries) {
    const { event, session, agent, file, ...figures } = summary
    const expected = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value ?? '–')]))
    assert.deepEqual(byKey.get(key(summary)), expected, key(summary))
  }
  // The sums, and what the guard did in the timelines.
  const sum = (name) => summaries.reduce((sum, summary) => sum + summary[name], 0)
  for (const name of ['calls', 'stuck', 'polling', 'notices', 'after_notice', 'denied', 'asked']) {
    assert.equal(await page.textContent(`[data-total=${name}]`), String(sum(name)), name)
  }
  assert.ok(sum('denied') > 0 && sum('notices') > 0)
  assert.equal(await page.locator('svg.strip rect').count(), sum('calls'))
  assert.equal(await page.locator('svg.strip .refused').count(), sum('denied'))
  assert.equal(await page.locator('svg.strip .notice').count(), lines.filter((line) => line.event === 'notice').length)
  assert.deepEqual(faults, [])
})

test('each number of tune --output json stands in the page', async () => {
  const { url, lines } = run('tune')
  const { page, faults } = await open(browser, url)
  const thresholds = new Map((await rows(page, 'tr[data-threshold]')).map((row) => [row.threshold, row.figures]))
  const sweep = lines.filter((line) => line.event === 'threshold')
  assert.equal(sweep.length, 19)
  for (const { event, threshold, ...figures } of sweep) {
    const expected = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value)]))
    assert.deepEqual(thresholds.get(String(threshold)), expected, `threshold ${threshold}`)
  }
  const pairs = (object) =>
    Object.entries(object)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', ')
  const tools = new Map((await rows(page, 'tr[data-tool]')).map((row) => [row.tool, row.figures]))
  const uses = lines.filter((line) => line.event === 'tool')
  assert.ok(uses.length > 20 && tools.size === uses.length, `${uses.length} tools`)
  for (const { event, tool, calls_per_step, denied_at, ...figures } of uses) {
    const expected = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value)]))
    Object.assign(expected, { calls_per_step: pairs(calls_per_step), denied_at: pairs(denied_at) })
    assert.deepEqual(tools.get(tool), expected, tool)
  }
  const configuration = lines.at(-1)
  assert.equal(configuration.event, 'configuration')
  assert.deepEqual(JSON.parse(await page.getAttribute('[data-config]', 'data-config')), configuration.config)
  assert.equal(await page.textContent('[data-total=calls]'), String(configuration.calls))
  assert.equal(await page.textContent('[data-total=sessions]'), String(configuration.sessions))
  // A bar is as high as its number says.
  const chart = page.locator('.charts').first().locator('figure').first()
  const heights = await chart
    .locator('rect.stuck')
    .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('height'))))
  const stuck = sweep.map((line) => line.stuck_notices).filter((notices) => notices > 0)
  assert.equal(heights.length, stuck.length)
  for (const [bar, height] of heights.entries()) {
    const expected = (heights[0] * stuck[bar]) / stuck[0]
    assert.ok(Math.abs(height - expected) < 2, `${stuck[bar]} notices are ${height} high, and not ${expected}`)
  }
  assert.deepEqual(faults, [])
})

test('identical calls have one colour', async () => {
  const { url } = run('replay')
  const { page } = await open(browser, url)
  const article = page.locator('article', { hasText: 'stuck-on-a-grep' }).first()
  const fills = await article
    .locator('svg.strip rect')
    .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).fill))
  assert.equal(fills.length, 10)
  const repeated = new Set(fills.slice(1, 9))
  assert.equal(repeated.size, 1, 'the eight equal greps')
  assert.ok(!repeated.has(fills[0]) && !repeated.has(fills[9]), 'and the calls around them')
  assert.match(
    await article.locator('svg.strip').getAttribute('aria-label'),
    /^Timeline of 10 calls; at most 8 equal ones in a row$/,
  )
})

test('the page can be used by keyboard, and sorts its table', async () => {
  const { url } = run('replay')
  const { page, faults } = await open(browser, url)
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the figures')
  const button = page.locator('#session-table thead button', { hasText: /^calls$/ })
  await button.focus()
  await page.keyboard.press('Enter')
  const column = () =>
    page.$$eval('#session-table tbody td[data-figure=calls]', (cells) => cells.map((cell) => Number(cell.textContent)))
  const descending = await column()
  assert.deepEqual(
    descending,
    descending.toSorted((one, other) => other - one),
  )
  assert.equal(await page.getAttribute('#session-table th[aria-sort]', 'aria-sort'), 'descending')
  await page.keyboard.press('Enter')
  assert.deepEqual(
    await column(),
    descending.toReversed().toSorted((one, other) => one - other),
  )
  await page.click('#copy')
  // Writing to the clipboard takes its time.
  await page.waitForFunction(() => document.getElementById('copied').textContent !== '')
  assert.match(await page.textContent('#copied'), /^(Copied\.|Selected: copy it from here\.)$/)
  assert.deepEqual(faults, [])
})

for (const colorScheme of ['light', 'dark']) {
  test(`nothing stands in the way of anybody, in the ${colorScheme}`, async () => {
    const { url } = run('tune')
    const { page, faults } = await open(browser, url, { colorScheme })
    const { violations, passes } = await obstacles(page)
    assert.deepEqual(violations, [])
    assert.ok(passes > 15, `${passes} rules apply`)
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    assert.equal(ground, { light: 'rgb(253, 253, 251)', dark: 'rgb(22, 22, 21)' }[colorScheme])
    assert.deepEqual(faults, [])
  })
}

test('on a phone nothing runs out of the page', async () => {
  const { url } = run('tune')
  const { page } = await open(browser, url, { viewport: { width: 360, height: 740 } })
  assert.equal(await overflow(page), 0)
})

test('on paper the numbers are there too', async () => {
  const { url } = run('tune')
  const { page } = await open(browser, url)
  await page.emulateMedia({ media: 'print' })
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
  assert.ok(await page.locator("tr[data-threshold='3']").isVisible())
  assert.ok(!(await page.locator('nav').isVisible()))
  const pdf = await page.pdf({ format: 'A4' })
  assert.equal(pdf.subarray(0, 5).toString(), '%PDF-')
})
