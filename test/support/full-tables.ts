import type { Client } from 'pg';

/** Delays that wait: more than any plan could read without being noticed. */
export const FUTURE = 200_000;
/** Delays of a served name that are due, each of a group of its own; their ids follow those of the future ones. */
export const OVERDUE = 2_000;
/** Groups that have a limit, and one attempt each that is over: those of the overdue ones among them. */
const LIMITED = 20_000;
/** Delays that are due and that nobody serves: long overdue, in front of all others. */
export const ORPHANS = 50_000;
/** Delays of a served name that come due within the horizon. */
export const SOON = 300;

export const SERVED = 'test.served';
const ORPHANED = 'test.orphaned';
export const HORIZON_MS = 30_000;

const HISTORY = 50_000;

/** Tables that are filled. */
export const FILLED = ['delay', 'history', 'quota', 'permit']
  .map((table) => `delay_queue.${table}`)
  .join();

/**
 * What months of work leave in the tables, with the planner's statistics up to date by default. All of it is
 * relative to now, and `soon` is far enough from either end of the horizon for a slow machine.
 */
export async function fillDelays(client: Client, { analyzes = true } = {}): Promise<void> {
  const insert = `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)`;
  await client.query(`
    ${insert}
    SELECT '${SERVED}', 'key ' || n, '{}', at, at, now()
    FROM generate_series(1, ${FUTURE}) n, LATERAL (SELECT now() + interval '1 day' + n * interval '1 s') t(at);
    ${insert.replace(')', ', group_id)')}
    SELECT '${SERVED}', NULL, '{}', at, at, now(), 'group ' || n
    FROM generate_series(1, ${OVERDUE}) n, LATERAL (SELECT now() - n * interval '1 ms') t(at);
    ${insert}
    SELECT '${ORPHANED}', NULL, '{}', at, at, now()
    FROM generate_series(1, ${ORPHANS}) n,
         LATERAL (SELECT now() - interval '1 day' - n * interval '1 ms') t(at);
    ${insert}
    SELECT '${SERVED}', NULL, '{}', at, at, now()
    FROM generate_series(1, ${SOON}) n, LATERAL (SELECT now() + interval '15 s') t(at);
    INSERT INTO delay_queue.history
      (id, ended_at, due_at, created_at, epoch, attempts, state, name, key)
    SELECT n, now() - n * interval '1 s', now(), now(), 0, 1, 'completed', '${SERVED}', 'key ' || n
    FROM generate_series(1, ${HISTORY}) n;
    INSERT INTO delay_queue.quota (name, group_id, tokens, filled_at)
    SELECT '${SERVED}', 'group ' || n, 0, now() FROM generate_series(1, ${LIMITED}) n;
    INSERT INTO delay_queue.permit (name, group_id, id, epoch)
    SELECT '${SERVED}', 'group ' || n, n, 1 FROM generate_series(1, ${LIMITED}) n`);
  if (analyzes) await client.query(`VACUUM ANALYZE ${FILLED}`);
}
