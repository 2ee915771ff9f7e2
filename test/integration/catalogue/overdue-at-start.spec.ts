import { expect, it } from '@jest/globals';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { EFFECT_TABLE, stageOfEach } from '../engine/support/stage-of-each.js';
import { AttemptStore, NodeStore } from '../../support/engine-parts.js';

/** All nodes were down for a while. */
const OVERDUE = 6_000;
const FEW = 100;
/** Of these: one whose connection is slow to come is nobody's unfairness. */
const NEARLY_ALL = 90;
const CLAIM_BATCH = 300;
const CONCURRENCY = 40;
const SWEEP_PAGE = 2_000;
const REQUESTS = 10;

const stage = stageOfEach({
  tables: `CREATE TABLE request (key text NOT NULL); ${EFFECT_TABLE}`,
});

/** What an application does meanwhile; answers how much of it was done before `over`. */
async function requestsUntil(node: DelayNode, over: () => boolean): Promise<number> {
  let served = 0;
  while (!over()) {
    const key = `request ${served}`;
    await node.dataSource.transaction(async (manager) => {
      await manager.query('INSERT INTO request VALUES ($1)', [key]);
      await node.delays.schedule('test.later', null, { after: '1h', key, manager });
    });
    expect(await node.delays.cancel('test.later', key)).toMatchObject({ verdict: 'cancelled' });
    served += 1;
  }
  return served;
}

it('thousands overdue at the start: bounded batches, fair between names, and the application goes on', async () => {
  await stage.overdue('test.many', OVERDUE - 2 * FEW, { secondsAgo: 3_600 });
  // Behind all of them, so that whoever goes by age alone comes to these last.
  await stage.overdue('test.few', FEW);
  await stage.overdue('test.fenced', FEW);
  await stage.sql('ANALYZE delay_queue.delay');

  const claim = stage.parts.intercept(AttemptStore, 'claim');
  const sweep = stage.parts.intercept(NodeStore, 'sweep');
  const ran = new Map<string, number>();
  const now = { running: 0, most: 0 };
  const allRan = signal();
  /** How many of the many had run when nearly all of that name had. */
  const manyBefore = new Map<string, number>();
  const count = (name: string): void => {
    const runs = (ran.get(name) ?? 0) + 1;
    ran.set(name, runs);
    if (runs === NEARLY_ALL) manyBefore.set(name, ran.get('test.many') ?? 0);
    if ([...ran.values()].reduce((sum, each) => sum + each, 0) === OVERDUE) allRan.resolve();
  };
  const node = await stage.start({
    options: { claimBatch: CLAIM_BATCH, concurrency: CONCURRENCY },
    providers: [
      plainHandler('test.many', async () => {
        now.running += 1;
        now.most = Math.max(now.most, now.running);
        await new Promise(setImmediate);
        now.running -= 1;
        count('test.many');
      }),
      plainHandler('test.few', () => count('test.few')),
      fencedHandler('test.fenced', async ({ id }, { manager }) => {
        await manager.query('INSERT INTO effect VALUES ($1)', [id]);
        count('test.fenced');
      }),
      plainHandler('test.later', () => {}),
    ],
  });
  let over = false;
  const requests = requestsUntil(node, () => over);
  await allRan.promise;
  over = true;
  // One after another, beside the backlog: neither the pool nor the event loop was taken from it.
  expect(await requests).toBeGreaterThan(REQUESTS);

  const batches = claim.calls.map(([wanted]) => wanted.length);
  expect(Math.max(...batches)).toBeLessThanOrEqual(CLAIM_BATCH);
  expect(now.most).toBeLessThanOrEqual(CONCURRENCY);
  const pages = await Promise.all(sweep.answers);
  expect(Math.max(...pages.map(({ wakes }) => wakes.length))).toBeLessThanOrEqual(SWEEP_PAGE);
  for (const name of ['test.few', 'test.fenced']) {
    expect(manyBefore.get(name)).toBeLessThan(OVERDUE / 2);
  }

  await stage.noneLeft();
  expect(ran.get('test.many')).toBe(OVERDUE - 2 * FEW);
  expect(
    await stage.sql(`SELECT count(*)::int AS lines, count(DISTINCT key)::int AS keys FROM effect`),
  ).toEqual([{ lines: FEW, keys: FEW }]);
  const ended = await stage.sql(
    `SELECT attempts, count(*)::int AS count FROM delay_queue.history
     WHERE state = 'completed' GROUP BY attempts`,
  );
  expect(ended).toEqual([{ attempts: 1, count: OVERDUE }]);
});
