/**
 * How a statement meets a row, or a key, that another session has in an open transaction:
 *
 * - `waits`: as any statement does, for as long as it takes.
 * - `a while`: the same for `HELD_MAX_MS`, and fails with 55P03 then. Only for a transaction of our own, for
 *   the limit is set for the rest of it.
 * - `at once`: takes it for changed, and the caller looks again.
 */
export type LockWait = 'waits' | 'a while' | 'at once';

/**
 * For so long a write may wait for a session that holds its row. Longer than any transaction should take, and
 * the end of two that wait for each other where Postgres cannot see it: of one process, or between looks.
 */
export const HELD_MAX_MS = 10_000;
