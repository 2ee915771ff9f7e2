const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;
const WEEKS = 104;

/** Of a time zone at an instant, ahead of UTC. */
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

function offsetIn(timeZone: string): (ms: number) => number {
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
