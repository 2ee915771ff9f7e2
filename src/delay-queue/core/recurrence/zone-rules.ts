const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const WEEK_MS = 7 * DAY_MS;
const WEEKS = 104;

/** How far a time zone is ahead of UTC at an instant. */
export interface ZoneOffset {
  atMs: number;
  minutes: number;
}

/**
 * The rules of a zone for the next two years, as this node's ICU has them: its offset each week, and
 * a minute before and after each change.
 */
export function zoneRules(timeZone: string, fromMs: number): ZoneOffset[] {
  const offsetAt = offsetIn(timeZone);
  const rules: ZoneOffset[] = [];
  const add = (atMs: number): number => {
    const minutes = offsetAt(atMs);
    rules.push({ atMs, minutes });
    return minutes;
  };
  const firstMs = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS;
  let before = add(firstMs);
  for (let week = 1; week <= WEEKS; week += 1) {
    const atMs = firstMs + week * WEEK_MS;
    if (offsetAt(atMs) !== before) {
      let [old, changed] = [atMs - WEEK_MS, atMs];
      while (changed - old > MINUTE_MS) {
        const middle = old + Math.floor((changed - old) / 2 / MINUTE_MS) * MINUTE_MS;
        if (offsetAt(middle) === before) old = middle;
        else changed = middle;
      }
      add(old);
      add(changed);
    }
    before = add(atMs);
  }
  return rules;
}

export function knowsZone(timeZone: string): boolean {
  try {
    offsetIn(timeZone);
    return true;
  } catch {
    return false;
  }
}

/** Names of zones are many, as Node reads them in any case. */
const KNOWN_MAX = 1_000;

type OffsetAt = (ms: number) => number;

const known = new Map<string, OffsetAt>();

/** Minutes ahead of UTC, by this node's rules. */
export function offsetIn(timeZone: string): OffsetAt {
  let offsetAt = known.get(timeZone);
  if (offsetAt === undefined) {
    offsetAt = newOffsetIn(timeZone);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(timeZone, offsetAt);
  }
  return offsetAt;
}

/**
 * When the wall clock of a zone shows what one that is `minutes` ahead of UTC shows at `ms`: of two
 * such instants the first; in an hour that it skips, what the clock before would have shown.
 */
export function sameWallClock(timeZone: string, ms: number, minutes: number): number {
  const offsetAt = offsetIn(timeZone);
  if (offsetAt(ms) === minutes) return ms;
  const wallMs = ms + minutes * MINUTE_MS;
  const [before, after] = [offsetAt(wallMs - DAY_MS), offsetAt(wallMs + DAY_MS)];
  const at = (offset: number): number => wallMs - offset * MINUTE_MS;
  return at([before, after].find((offset) => offsetAt(at(offset)) === offset) ?? before);
}

function newOffsetIn(timeZone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (ms) => {
    const [, sign, hours, minutes = '0'] =
      /GMT([+-])(\d\d):?(\d\d)?/.exec(format.format(ms)) ?? ([] as string[]);
    return sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes));
  };
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `UTC-08:00` */
export function offsetText(minutes: number): string {
  const all = Math.abs(minutes);
  return `UTC${minutes < 0 ? '-' : '+'}${two(Math.floor(all / 60))}:${two(all % 60)}`;
}
