import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';

const HOUR_MS = 3_600_000;

/** Longer than any zone keeps one offset, so a wait of calendar days would be an hour off. */
const STRETCH_MS = 200 * 24 * HOUR_MS;

/** Its clocks change by half an hour, on the other side of the world; an hour or two before that. */
const ZONE = 'Australia/Lord_Howe';
const BEFORE_MS = Date.UTC(2090, 3, 1, 14);

/** How the database writes and reads times meanwhile, when nobody says otherwise. */
const SESSION = { timezone: 'Asia/Kathmandu', datestyle: 'German', intervalstyle: 'iso_8601' };

const NAME = 'test.calendar';
const cluster = new Cluster();

it('a due time is an instant, whatever zones the database and the process keep, and across a change of the clocks', async () => {
  const [row] = await cluster.sql<{ name: string }>('SELECT current_database() AS name');
  for (const [setting, value] of Object.entries(SESSION)) {
    await cluster.sql(`ALTER DATABASE ${row!.name} SET ${setting} = '${value}'`);
  }
  const worker = await cluster.worker('calendar', { [NAME]: { does: 'note' } }, KEEPS_LEASES, {
    TZ: ZONE,
  });
  const schedule = async (key: string, when: { afterMs: number } | { atMs: number }) => {
    worker.send({ schedule: { name: NAME, key, ...when } });
    const { dueAtMs, offset } = await worker.waitFor(({ scheduled }) => scheduled === key);
    return { dueAtMs, offset };
  };

  const instantsMs = [0, 1, 2, 3].map((hours) => BEFORE_MS + hours * HOUR_MS);
  const answered = [];
  for (const atMs of instantsMs) answered.push(await schedule(`at ${atMs}`, { atMs }));
  expect(answered.map(({ dueAtMs }) => dueAtMs)).toEqual(instantsMs);
  // The clocks really change between these instants, in the process that wrote them.
  expect(new Set(answered.map(({ offset }) => offset)).size).toBe(2);

  const after = await schedule('after', { afterMs: STRETCH_MS });
  await schedule('extended', { atMs: BEFORE_MS });
  worker.send({ extend: { name: NAME, key: 'extended', byMs: STRETCH_MS } });
  const extended = await worker.waitFor((message) => message.extended !== undefined);
  expect(extended.dueAtMs).toBe(BEFORE_MS + STRETCH_MS);

  const soon = await schedule('soon', { afterMs: 50 });
  const [fired] = await cluster.until<{ dueMs: number; latenessMs: number }>(
    `SELECT (extract(epoch FROM l.due) * 1000)::float8 AS "dueMs", l.lateness_ms AS "latenessMs"
     FROM ledger l JOIN delay_queue.history h USING (key) WHERE l.due = h.due_at`,
    ({ length }) => length === 1,
  );
  expect(fired!.dueMs).toBe(soon.dueAtMs);
  expect(fired!.latenessMs).toBeGreaterThanOrEqual(0);
  expect(fired!.latenessMs).toBeLessThan(HOUR_MS / 2);

  const stored = await cluster.sql<{ key: string; dueMs: number; waitMs: number }>(
    `SELECT key, (extract(epoch FROM due_at) * 1000)::float8 AS "dueMs",
            (extract(epoch FROM due_at - created_at) * 1000)::float8 AS "waitMs"
     FROM delay_queue.delay ORDER BY id`,
  );
  const dueMs = new Map(stored.map((each) => [each.key, each.dueMs]));
  expect(instantsMs.map((ms) => dueMs.get(`at ${ms}`))).toEqual(instantsMs);
  expect(dueMs.get('after')).toBe(after.dueAtMs);
  // Whole milliseconds, rounded up.
  const waitMs = stored.find(({ key }) => key === 'after')!.waitMs - STRETCH_MS;
  expect(waitMs).toBeGreaterThanOrEqual(0);
  expect(waitMs).toBeLessThan(1);
});
