/** Instants as `datetime-local` has them: in the viewer's time zone, without one. */

const MINUTE_MS = 60_000;

export function localOf(ms: number): string {
  const at = new Date(ms);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS);
  return local.toISOString().slice(0, 19);
}

/** @returns null: it is none */
export function isoOf(local: string): string | null {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}
