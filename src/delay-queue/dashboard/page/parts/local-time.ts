/** Instants as `datetime-local` has them: in the viewer's time zone, without one. */

const MINUTE_MS = 60_000;

/** @returns an empty text for NaN */
export function localFromMs(ms: number): string {
  if (Number.isNaN(ms)) return '';
  const at = new Date(ms);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS);
  return local.toISOString().slice(0, 19);
}

/** By how much clocks are set back: an hour, or half an hour on Lord Howe Island. */
const REPEATED_MS = [60 * MINUTE_MS, 30 * MINUTE_MS];

/** @returns null: it is none, or the clock of the viewer's time zone skips or repeats it */
export function isoFromLocal(local: string): string | null {
  const ms = new Date(local).getTime();
  if (Number.isNaN(ms)) return null;
  const shown = localFromMs(ms);
  const isOnce = REPEATED_MS.every((byMs) => localFromMs(ms + byMs) !== shown);
  return isOnce && shown.startsWith(local.slice(0, shown.length))
    ? new Date(ms).toISOString()
    : null;
}
