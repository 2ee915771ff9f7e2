import type { ChaosServer } from './world.js';

const LOOK_EVERY_MS = 250;
const ROWS_TOLD = 10;

const LEFT = `
  SELECT d.id, d.name, d.key, d.payload, d.due_at, d.wake_at, d.leased_until, d.leased_by, d.epoch, d.attempts,
         d.last_error
  FROM delay_queue.delay d WHERE d.wake_at < 'infinity'`;

/**
 * Waits until nothing but dead letters is left.
 * @returns what is left all the same when the time is over, as lines for people
 */
export async function untilQuiet(
  server: ChaosServer,
  withinMs: number,
  sleep: (ms: number) => Promise<void>,
): Promise<string[]> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    const [row] = await server.sql<{ left: number }>(
      `SELECT count(*)::int AS left FROM (${LEFT}) l`,
    );
    if (row?.left === 0) return [];
    if (performance.now() > giveUpAtMs) break;
    await sleep(LOOK_EVERY_MS);
  }
  const rows = await server.sql(`${LEFT} ORDER BY d.id LIMIT ${ROWS_TOLD}`);
  return rows.map((row) => JSON.stringify(row));
}
