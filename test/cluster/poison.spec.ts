import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const HEALTHY = 200;
const MAX_ATTEMPTS = 3;

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

it('a payload that kills its process ends as a dead letter, and its neighbours complete', async () => {
  const serves: Record<`test.${string}`, Served> = {
    'test.poison': { does: 'die', maxAttempts: MAX_ATTEMPTS },
    'test.plain': { does: 'note', maxAttempts: MAX_ATTEMPTS },
    'test.fenced': { does: 'note', fenced: true, timeout: '1s', maxAttempts: MAX_ATTEMPTS },
  };
  const { delays } = await cluster.producer();
  const healthy = Array.from({ length: HEALTHY }, (_, n) => ({
    name: n % 2 === 0 ? ('test.plain' as const) : ('test.fenced' as const),
    payload: n,
    key: `h${n}`,
    after: 0,
  }));
  await delays.scheduleMany(healthy.slice(0, HEALTHY / 2));
  await delays.schedule('test.poison', null, { after: 0, key: 'p' });
  await delays.scheduleMany(healthy.slice(HEALTHY / 2));

  let deaths = 0;
  for (let start = 0; ; start += 1) {
    const worker = await cluster.worker(`n${start}`, { serves });
    const over = await Promise.race([cluster.quiet().then(() => 'quiet'), worker.exited]);
    if (over === 'quiet') {
      await worker.kill();
      break;
    }
    deaths += 1;
    expect(over).toMatchObject({ signal: 'SIGKILL' });
    expect(deaths).toBeLessThanOrEqual(MAX_ATTEMPTS);
  }
  expect(deaths).toBe(MAX_ATTEMPTS);
  const left = await cluster.sql(
    'SELECT name, attempts, wake_at::text AS wake, leased_by FROM delay_queue.delay',
  );
  expect(left).toEqual([
    { name: 'test.poison', attempts: MAX_ATTEMPTS, wake: 'infinity', leased_by: null },
  ]);
  const done = await cluster.sql(
    'SELECT state, count(*)::int AS count FROM delay_queue.history GROUP BY state',
  );
  expect(done).toEqual([{ state: 'completed', count: HEALTHY }]);
  const fenced = await cluster.sql(
    `SELECT count(*)::int AS lines, count(DISTINCT key)::int AS delays
     FROM ledger WHERE name = 'test.fenced'`,
  );
  expect(fenced).toEqual([{ lines: HEALTHY / 2, delays: HEALTHY / 2 }]);
});

it('rows that come back from an expired lease run one at a time, apart from healthy ones', async () => {
  const serves: Record<`test.${string}`, Served> = {
    'test.held': { does: 'hold', concurrency: 8, timeout: '60s' },
  };
  const { delays } = await cluster.producer();
  await delays.scheduleMany(
    Array.from({ length: 6 }, (_, n) => ({
      name: 'test.held' as const,
      payload: null,
      key: `s${n}`,
      after: 0,
    })),
  );
  const crashed = await cluster.worker('crashed', { serves });
  for (let n = 0; n < 6; n += 1) await crashed.waitFor(({ holding }) => holding === `s${n}`);
  await crashed.kill('SIGKILL');
  await cluster.until<{ left: number }>(
    `SELECT count(*)::int AS left FROM delay_queue.delay WHERE leased_until > clock_timestamp()`,
    ([row]) => row?.left === 0,
  );

  const worker = await cluster.worker('next', { serves });
  const seen: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const { holding } = await worker.waitFor(
      (message) => message.holding?.startsWith('s') === true && !seen.includes(message.holding),
    );
    seen.push(holding!);
    // A healthy one that comes meanwhile is served at once: the others wait for their turn, not
    // for a slot.
    await delays.schedule('test.held', null, { after: 0, key: `h${n}` });
    await worker.waitFor((message) => message.holding === `h${n}`);
    const held = worker.messages.filter((message) => message.holding?.startsWith('s'));
    expect(held).toHaveLength(n + 1);
    worker.send({ go: `h${n}` });
    worker.send({ go: holding });
  }
  await cluster.quiet();
});
