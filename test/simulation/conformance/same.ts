/**
 * All durations of a sequence are multiples of this, and the two clocks are never so far apart: what
 * is due on one side is due on the other, however slow the machine.
 */
export const UNIT_MS = 30_000;

const isInstant = (key: string): boolean =>
  /(?:^|_)ms$/.test(key) || /^(?:wakeMs|dueMs|nowMs|laterMs)$/.test(key);

/**
 * What an answer says, without what may differ: instants count from this side's now, in units, and
 * with the whole milliseconds that the library promises.
 */
export function normalised(value: unknown, nowMs: number, key = ''): unknown {
  if (typeof value === 'number' && isInstant(key)) {
    // Plus 0, which makes 0 of -0.
    return Math.round((value - nowMs) / UNIT_MS) + 0;
  }
  if (key === 'payload') return JSON.parse(value as string);
  if (key === 'wakes') return (value as object[]).map((wake) => normalised(wake, nowMs));
  if (Array.isArray(value)) return value.map((item) => normalised(item, nowMs));
  if (value instanceof Error) {
    // The server's and the library's say by a code what they are.
    return { error: 'code' in value ? value.code : value.constructor.name };
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      // A backend's pid is its own, and so are the texts of a timeout and of an instant.
      .filter(([name]) => !['pid', 'idle', 'began'].includes(name))
      .map(([name, inner]) => [name, normalised(inner, nowMs, name)]),
  );
}

/** Answers without an order of their own, by id. */
export const byId = (answer: unknown): unknown =>
  Array.isArray(answer) ? answer.toSorted((a, b) => idOf(a) - idOf(b)) : answer;

const idOf = (item: unknown): number =>
  typeof item === 'number' ? item : ((item as { id?: number } | undefined)?.id ?? 0);
