import { expect, it } from '@jest/globals';
import { IS_LISTENER } from '../support/listener.js';
import { Cluster, type Worker } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

/** Nothing here ends by its time. */
const FOREVER = { options: { lease: '30m', timeout: '30m' } } as const;

const held: Served = { does: 'hold', backoff: { base: 10 } };
const HOLDS = { 'test.plain': held, 'test.fenced': { ...held, fenced: true } } as const;
const DOES = {
  'test.plain': { does: 'note' },
  'test.fenced': { does: 'note', fenced: true },
} as const satisfies Record<string, Served>;

const cluster = new Cluster();

async function holding(nodeName = 'victim'): Promise<Worker> {
  const victim = await cluster.worker(nodeName, HOLDS, FOREVER);
  for (const name of ['test.plain', 'test.fenced'] as const) await cluster.held(victim, name);
  return victim;
}

const fencedDone = () =>
  cluster.until<{ node: string; attempts: number }>(
    `SELECT node, attempts FROM delay_queue.history WHERE name = 'test.fenced'`,
    ({ length }) => length === 1,
  );

/** The lease of an hour has its say about a plain attempt, whose effects nothing fences. */
const plainStands = async (): Promise<void> => {
  const rows = await cluster.sql('SELECT name, leased_by, attempts FROM delay_queue.delay');
  expect(rows).toEqual([{ name: 'test.plain', leased_by: 'victim', attempts: 1 }]);
};

it('a killed process leaves its transactional attempts to others at once, and its plain ones to their leases', async () => {
  const victim = await holding();
  await cluster.worker('heir', DOES, FOREVER);
  await victim.kill('SIGKILL');
  expect(await fencedDone()).toEqual([{ node: 'heir', attempts: 2 }]);
  await plainStands();
  expect([...(await cluster.timesDone('test.fenced')).values()]).toEqual([1]);
});

it('a process that is started again under the same name takes over what it had before', async () => {
  const victim = await holding();
  await victim.kill('SIGKILL');
  await cluster.worker('victim', DOES, FOREVER);
  expect(await fencedDone()).toEqual([{ node: 'victim', attempts: 2 }]);
  await plainStands();
});

it('a process that loses its connection, and lives, keeps what it has', async () => {
  const victim = await holding();
  await cluster.worker('heir', DOES, FOREVER);
  await cluster.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'delay-queue victim' AND ${IS_LISTENER}`,
  );
  await victim.waitFor(({ event, key }) => event === 'taskRecovered' && key === 'listen');
  victim.send({ go: 'test.fenced' });
  expect(await fencedDone()).toEqual([{ node: 'victim', attempts: 1 }]);
  await plainStands();
});

it('what was prefetched in a killed process, and waited there, is not left to its lease either', async () => {
  const count = 1_000;
  const quick = { 'test.fenced': { does: 'note', fenced: true, concurrency: 4 } } as const;
  const victim = await cluster.worker('victim', quick, FOREVER);
  await cluster.schedule('test.fenced', count);
  await cluster.until(
    `SELECT FROM delay_queue.delay WHERE leased_by = 'victim'`,
    ({ length }) => length > quick['test.fenced'].concurrency * 2,
  );
  await victim.kill('SIGKILL');
  const [spent] = await cluster.sql<{ most: number }>(
    'SELECT max(attempts) AS most FROM delay_queue.delay WHERE attempts > 0',
  );
  expect(spent?.most).toBe(1);
  await cluster.worker('heir', quick, FOREVER);
  await cluster.quiet();
  expect([...(await cluster.timesDone('test.fenced')).values()]).toEqual(Array(count).fill(1));
  const again = (await cluster.ends('test.fenced')).filter(({ attempts }) => attempts > 1);
  expect(again.length).toBeGreaterThan(0);
  expect(new Set(again.map((end) => `${end.node} ${end.attempts}`))).toEqual(new Set(['heir 2']));
});
