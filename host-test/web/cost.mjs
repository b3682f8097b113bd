// Prints what a call costs in the page, in microseconds, by the size of its arguments: one line of JSON. The browser is CHROMIUM.
import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { launch, open } from './test/browser.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

const browser = await launch()
try {
  const { page } = await open(browser, pathToFileURL(here('dist/loop-guard.html')).href)
  await page.waitForSelector('#totals')
  const measure = readFileSync(here('../js/measure.mjs'), 'utf8').replaceAll(/^export /gm, '')
  await page.addScriptTag({ content: `{ ${measure}\nglobalThis.measured = () => cost(loopGuard.createGuard) }` })
  const costs = await page.evaluate(() => measured())
  console.log(JSON.stringify(costs, (_, value) => (typeof value === 'number' ? Number(value.toFixed(2)) : value)))
} finally {
  await browser.close()
}
