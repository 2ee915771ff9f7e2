import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { plainHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { until } from '../../support/until.js';
import { makeSweepsRare } from '../../support/rare-sweeps.js';

// Nothing is found because it is overdue.
makeSweepsRare();

const HOUR_MS = 3_600_000;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

/** What nodes read is off by so much; the database itself, and so every claim, stays right. */
function readClockOffBy(offMs: () => number): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const load = NodeStore.prototype.load;
  jest.spyOn(NodeStore.prototype, 'load').mockImplementation(async function (
    this: NodeStore,
    ...given
  ) {
    const page = await load.apply(this, given);
    return { ...page, nowMs: page.nowMs + offMs() };
  });
}

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
  const claim = jest.spyOn(AttemptStore.prototype, 'claim');
  const node = await stage.start({ options, providers: [plainHandler('test.timed', () => {})] });
  const completed = node.next('completed');
  await node.delays.schedule('test.timed', null, { after: 1_500, key: 'k' });
  // It asks, and is told how early that is.
  await until(
    () => claim.mock.calls.length,
    (calls) => calls > 0,
  );
  offMs = 0;
  expect((await completed).latenessMs).toBeGreaterThanOrEqual(0);
  const [history] = await stage.sql<{ attempts: number; early: boolean }>(
    'SELECT attempts, ended_at < due_at AS early FROM delay_queue.history',
  );
  expect(history).toEqual({ attempts: 1, early: false });
});
