/**
 * Whether invariants are checked where they live: in this library's tests and chaos runs, by
 * `DELAY_QUEUE_INVARIANTS=on`. Elsewhere a check costs the test of a constant.
 */
export const CHECKED = process.env['DELAY_QUEUE_INVARIANTS'] === 'on';

/**
 * ```ts
 * if (CHECKED) invariant(taken >= 0, 'slots taken', taken);
 * ```
 *
 * @throws Error naming the invariant and what was seen: the state of this process is wrong
 */
export function invariant(holds: boolean, what: string, ...seen: readonly unknown[]): void {
  if (!holds) throw new Error(`invariant broken: ${what} (${seen.map(String).join(', ')})`);
}
