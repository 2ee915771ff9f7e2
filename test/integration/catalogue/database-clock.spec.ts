import { expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { AttemptStore, NodeStore } from '../../support/engine-parts.js';

const HOUR_MS = 3_600_000;

/** Nothing is found because it is overdue. */
const stage = stageOfEach({ rareSweeps: true });

/** What nodes read is off by so much; the database itself, and so every claim, stays right. */
const readClockOffBy = (offMs: () => number): unknown =>
  stage.parts.intercept(NodeStore, 'load', async ({ real }) => {
    const page = await real();
    return { ...page, nowMs: page.nowMs + offMs() };
  });

const options = { lease: '30m', loadEvery: '300ms', horizon: '50m' } as const;

it('a clock that jumps ahead by an hour: what waits in the wheel fires when it is due by the new time', async () => {
  let offMs = -HOUR_MS;
  readClockOffBy(() => offMs);
  const node = await stage.start({ options, providers: [plainHandler('test.timed', () => {})] });
  const completed = node.next('completed');
  // In the wheel, and an hour and a second away for all that this node knows.
  await node.delays.schedule('test.timed', null, { after: 1_000, key: 'k' });
  offMs = 0;
  const { latenessMs } = await completed;
  expect(latenessMs).toBeGreaterThanOrEqual(0);
  expect(latenessMs).toBeLessThan(HOUR_MS / 4);
});

it('a clock that is set back by an hour: what the node takes for due is not taken before its time', async () => {
  let offMs = HOUR_MS;
  readClockOffBy(() => offMs);
  const claim = stage.parts.intercept(AttemptStore, 'claim');
  const node = await stage.start({ options, providers: [plainHandler('test.timed', () => {})] });
  const completed = node.next('completed');
  await node.delays.schedule('test.timed', null, { after: 1_000, key: 'k' });
  // It asks, and is told how early that is.
  await until(
    () => claim.calls.length,
    (calls) => calls > 0,
  );
  offMs = 0;
  expect((await completed).latenessMs).toBeGreaterThanOrEqual(0);
  const [history] = await stage.sql<{ attempts: number; early: boolean }>(
    'SELECT attempts, ended_at < due_at AS early FROM delay_queue.history',
  );
  expect(history).toEqual({ attempts: 1, early: false });
});
