// The browser that tests use: CHROMIUM, or Debian's.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Starts it, without what it would fetch by itself. */
export function launch() {
  const quiet = [
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ]
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', ...quiet] })
}

/** A page whose errors, and whose requests for anything but itself, are kept. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const faults = []
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  // An icon that stands in the page itself is no request.
  page.on(
    'request',
    (request) => request.url() !== url && !request.url().startsWith('data:') && faults.push(request.url()),
  )
  await page.goto(url)
  return { page, faults }
}

/** What stands in the way of people, with everything that can be unfolded open; and how many rules were looked at. */
export async function obstacles(page) {
  await page.$$eval('details', (all) => {
    for (const details of all) details.open = true
  })
  await page.evaluate(axe)
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run())
  const first = ({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`
  return {
    violations: violations.map(({ id, nodes }) => `${id}: ${nodes.length} times, first ${first(nodes[0])}`),
    passes: passes.length,
  }
}

/** By how many pixels the page is wider than the screen. */
export const overflow = (page) => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth))
