import { expect, type Page } from '@playwright/test'

// What the focus has come to. inside: still in the same control, in one of the parts that a date has and the browser marks
// itself. free: no other thing lies over it.
type Stop = { what: string; seen: boolean; free: boolean; marked: boolean; inside: boolean }

const focused = (page: Page) =>
  page.evaluate((): Stop | null => {
    const at = document.activeElement as HTMLElement | null
    const was = window as unknown as { began?: Element; stoppedAt?: Element }
    // Behind the last control the focus is nowhere, or at the first one again.
    if (!at || at === document.body || (at === was.began && at !== was.stoppedAt)) return null
    was.began ??= at
    const style = getComputedStyle(at)
    const inside = was.stoppedAt === at
    was.stoppedAt = at
    const box = at.getBoundingClientRect()
    // A link may break over lines: one of its pieces in the open is enough. A tall box need not show its middle.
    const middle = (from: number, to: number, room: number) => (Math.max(from, 0) + Math.min(to, room)) / 2
    const open = ({ left, right, top, bottom }: DOMRect) => {
      const there = document.elementFromPoint(middle(left, right, innerWidth), middle(top, bottom, innerHeight))
      return there !== null && (at.contains(there) || there.contains(at))
    }
    return {
      what: `${at.tagName.toLowerCase()}${at.id ? '#' + at.id : ''} ${(at.getAttribute('aria-label') ?? at.textContent ?? '').trim().slice(0, 40)}`,
      seen: box.width > 0 && box.height > 0 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight && style.visibility !== 'hidden',
      free: [...at.getClientRects()].some(open),
      inside,
      marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
    }
  })

// Everything that the Tab key should reach, without what is folded away.
const reachable = (page: Page) =>
  page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')
    const groups = new Set<string>()
    return [...all].filter((element) => {
      if (element.matches(':disabled, [tabindex="-1"]') || !element.checkVisibility({ visibilityProperty: true })) return false
      // Of the choices of one name the Tab key visits one.
      const radio = element as HTMLInputElement
      if (radio.type !== 'radio') return true
      const first = !groups.has(radio.name)
      groups.add(radio.name)
      return first
    }).length
  })

// Takes the focus away, to where a page that has just been opened has it.
const leave = (page: Page) =>
  page.evaluate(() => {
    Object.assign(window, { began: undefined, stoppedAt: undefined })
    ;(document.activeElement as HTMLElement | null)?.blur()
    getSelection()?.setPosition(document.body, 0)
  })

// Goes once through the page with the Tab key, from its beginning.
async function stops(page: Page): Promise<Stop[]> {
  await leave(page)
  const found: Stop[] = []
  for (let i = 0; i < 400; i++) {
    await page.keyboard.press('Tab')
    const stop = await focused(page)
    if (!stop) return found
    if (!stop.inside) found.push(stop)
  }
  throw new Error(`the focus does not come round: it is caught at ${found.at(-1)?.what}`)
}

// tabThrough holds a page to this: the Tab key comes to each control once and out again, and what has the focus is in
// sight, uncovered and marked.
export async function tabThrough(page: Page, where: string): Promise<void> {
  // An update may come between counting and walking; then the walk is done again.
  await expect(async () => {
    const want = await reachable(page)
    const found = await stops(page)
    expect(found.filter((stop) => !stop.seen || !stop.free || !stop.marked), `${where}: out of sight, covered or not marked`).toEqual([])
    expect(found.length, `${where}: ${found.map((stop) => stop.what).join(' | ')}`).toBe(want)
  }).toPass({ timeout: 30_000 })
  await leave(page)
}
