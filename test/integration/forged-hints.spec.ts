import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes, randomInt } from 'node:crypto';
import { Client } from 'pg';
import { NAMES } from '../support/acting-node.js';
import { signal } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { ABORT, aborted, KEY, LIMITED, TwoNodes } from './abort/support/two-nodes.js';
import { LimitStore, Notifier } from '../support/engine-parts.js';

const CHANNEL = 'delay_queue';
const GROUPED = 'customer-4711@example.com';
const DELAYS = 20;

const two = new TwoNodes();
let stranger: Client;
let role: string;
const heard: string[] = [];

/** A login that may do nothing but connect. */
beforeEach(async () => {
  role = `stranger_${randomBytes(5).toString('hex')}`;
  await two.sql(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'`);
  const url = new URL(two.url);
  [url.username, url.password] = [role, role];
  stranger = new Client({ connectionString: url.href });
  stranger.on('notification', ({ payload = '' }) => heard.push(payload));
  await stranger.connect();
  await stranger.query(`LISTEN ${CHANNEL}`);
});

afterEach(async () => {
  heard.length = 0;
  await stranger.end();
  await two.sql(`DROP ROLE ${role}`);
});

const forge = (...texts: string[]): Promise<unknown> =>
  stranger.query('SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text', [CHANNEL, texts]);

/** He has no right to read them: what he can guess, or has heard. */
async function claims(): Promise<[id: number, epoch: number, name: string][]> {
  const rows = await two.sql<{ id: string; epoch: string; name: string }>(
    'SELECT id::text, epoch::text, name FROM delay_queue.delay ORDER BY id',
  );
  return rows.map(({ id, epoch, name }) => [Number(id), Number(epoch), name]);
}

/** All that a stranger can say of rows, and of none. */
function lies(rows: readonly [id: number, epoch: number, name: string][]): string[] {
  const nowMs = Date.now();
  const [far, soon] = [nowMs + 3e6, nowMs + 1_000];
  const said = rows.flatMap(([id, epoch, name]) => [
    `a[${id}]`,
    `a[[${id},${epoch}]]`,
    ...[far, soon, 0, -1, 1e300].map((wakeMs) => `w[[${id},${epoch},"${name}",${wakeMs}]]`),
    `w[[${id},${epoch + 5},"${name}",${far},1]]`,
    `w[[${id},${epoch},"${name}",0,0,${randomInt(2 ** 32)}]]`,
    `u[[${id},${epoch},"${name}",0]]`,
    `u[[${id},${epoch + 1},"${name}",${far},1,7]]`,
    `v[["${name}"],["${name}",${randomInt(2 ** 32)}]]`,
  ]);
  const other = ['n', 'nruns', 'nasks', `n${'x'.repeat(7_000)}`, 'p1', 'a{', 'w[[', 'z[1]', '2w[]'];
  const huge = `a[${Array.from({ length: 1_000 }, (_, n) => n + 1).join()}]`;
  return [...said, ...other, huge, `v[["${NAMES.plain}","${'g'.repeat(7_000)}"]]`];
}

const statements = async (): Promise<number> => {
  const [row] = await two.sql<{ calls: number }>(
    `SELECT sum(xact_commit)::int AS calls FROM pg_stat_database WHERE datname = current_database()`,
  );
  return row!.calls;
};

describe('a stranger who may only connect', () => {
  it.each(['transactional', 'plain'] as const)(
    'ends no attempt, moves nothing, and runs nothing early: %s',
    async (kind) => {
      const goOn = signal();
      let begun = 0;
      two.does(async (ctx) => {
        begun += 1;
        await Promise.race([goOn.promise, aborted(ctx)]);
        ctx.signal.throwIfAborted();
      });
      const keys = Array.from({ length: DELAYS }, (_, n) => `${kind} ${n}`);
      await two.schedule(kind, ...keys);
      const later = await two.asks.delays.schedule(NAMES.plain, null, {
        after: '1h',
        key: 'later',
      });
      await until(
        () => begun,
        (count) => count > 0,
      );
      for (let round = 0; round < 20; round += 1) await forge(...lies(await claims()));
      // What he said is heard: an abort that counts comes after it.
      await two.looked();
      goOn.resolve();
      await two.toldOf(DELAYS);
      expect(new Set(two.told.map(([event]) => event))).toEqual(new Set(['completed']));
      expect(two.calls.flatMap(([, attempts]) => attempts)).toEqual(keys.map(() => 1));
      const waiting = await two.asks.delays.find(NAMES.plain, 'later');
      expect(waiting).toMatchObject({ state: 'scheduled', dueAt: later.dueAt, attempts: 0 });
      await two.asks.delays.cancel(NAMES.plain, 'later');
    },
  );

  it('who floods the channel costs a limited number of looks', async () => {
    const goOn = signal();
    await two.begin('plain', () => goOn.promise);
    const rows = await claims();
    const floods = 300;
    const before = await statements();
    const beganAtMs = performance.now();
    for (let flood = 0; flood < floods; flood += 1) await forge(...lies(rows));
    await two.looked();
    const seconds = (performance.now() - beganAtMs) / 1_000;
    // Each flood is a statement of his own.
    const looks = (await statements()) - before - floods;
    goOn.resolve();
    await two.toldOf(1);
    // 20 for aborts, 100 for rows, 4 for loads, and the work that there is anyway; on three nodes, and with room to spare.
    expect(looks).toBeLessThan(400 * (seconds + 2));
  });

  it('hears no group, and no key', async () => {
    const done = two.runs.next('completed', ({ key }) => key === 'secret-key');
    const options = { after: 200, key: 'secret-key', group: GROUPED };
    await two.asks.delays.schedule(NAMES.plain, { secret: 'payload' }, options);
    await done;
    await until(
      () => heard,
      ({ length }) => length > 0,
    );
    const all = heard.join('\n');
    expect(all).toContain(NAMES.plain);
    for (const secret of [GROUPED, 'customer', 'secret-key', 'payload'])
      expect(all).not.toContain(secret);
  });
});

it('places that a stranger tells of cost a limited number of claims, and let none run that has no place', async () => {
  const claim = two.parts.intercept(LimitStore, 'claim');
  const other = await two.another('runs, too');
  const goOn = signal();
  let [running, most] = [0, 0];
  two.does(async () => {
    most = Math.max(most, (running += 1));
    await goOn.promise;
    running -= 1;
  });
  const keys = ['holds the place', 'waits', 'waits, too'];
  for (const key of keys) await two.asks.delays.schedule(LIMITED, null, { after: 0, key });
  // One that is heard asks again.
  await until(
    async () => (await forge(`v[["${LIMITED}"]]`), claim.calls.length),
    (count) => count > 5,
  );
  const before = claim.calls.length;
  const beganAtMs = performance.now();
  for (let number = 0; number < 500; number += 1) await forge(`v[["${LIMITED}",${number}]]`);
  const seconds = (performance.now() - beganAtMs) / 1_000;
  // 100 a second on each of two nodes, and the looks of their own.
  expect(claim.calls.length - before).toBeLessThan(250 * (seconds + 0.1));
  expect(two.calls).toHaveLength(1);
  goOn.resolve();
  await two.isEmpty();
  expect([most, two.calls.length]).toEqual([1, keys.length]);
  await other.stop();
});

it.each(['transactional', 'plain'] as const)(
  'an abort of which no hint comes is heard: %s',
  async (kind) => {
    two.parts.intercept(Notifier, 'abort', async () => {});
    await two.begin(kind, async (ctx) => {
      await aborted(ctx);
      ctx.signal.throwIfAborted();
    });
    expect(await two.asks.delays.cancel(NAMES[kind], KEY, ABORT)).toMatchObject({
      verdict: 'cancelled',
    });
  },
);
