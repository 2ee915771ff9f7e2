import { beforeEach, describe, expect, it } from '@jest/globals';
import { DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import {
  type ActingContext,
  ActingNode,
  KEY,
  type Kind,
  NAMES,
} from '../../support/acting-node.js';
import { signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { KEPT, told, times } from './support/told.js';

const node = new ActingNode({ options: { ...KEPT, nodeName: 'n1' } });

let calls: number;
beforeEach(() => {
  calls = 0;
});

const fail = (): never => {
  throw new Error('no');
};

/** Only at its first call. */
const failFirst = (): void => {
  calls += 1;
  if (calls === 1) fail();
};

/** What is told of the key when there are so many lines. */
async function atEnd(kind: Kind, lines = 1): Promise<string[][]> {
  await until(
    () => node.delays.history(NAMES[kind], KEY),
    ({ length }) => length === lines,
  );
  return told(node);
}

describe.each(['plain', 'transactional'] as const)('of a %s handler', (kind) => {
  const name = NAMES[kind];

  it('each attempt is told, with its place and times', async () => {
    const before = Date.now();
    await node.fire(kind, failFirst);
    expect(await atEnd(kind)).toEqual([['completed', '1 failed: Error: no', '2 completed']]);
    const [line] = await node.delays.history(name, KEY);
    expect(line?.attemptLog.map(({ node: of }) => of)).toEqual(['n1', 'n1']);
    const instants = times(line!.attemptLog);
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
    expect(instants[0]).toBeGreaterThanOrEqual(before - 1_000);
    expect(instants.at(-1)).toBe(line!.endedAt.getTime());
  });

  it('what is postponed or discarded is told', async () => {
    const says = [new PostponeDelay('1ms'), new DiscardDelay('unwanted')];
    const dead = node.next('dead');
    await node.fire(kind, () => {
      throw says.shift()!;
    });
    await dead;
    expect(await told(node)).toEqual([['dead', '1 postponed', '1 failed: unwanted']]);
  });

  it('what moves its own row on is told, and begins anew', async () => {
    await node.fire(kind, async ({ manager }: ActingContext) => {
      failFirst();
      const more = manager ? { manager } : {};
      if (calls === 2) await node.delays.schedule(name, null, { after: 0, key: KEY, ...more });
    });
    expect(await atEnd(kind, 2)).toEqual([
      ['superseded', '1 failed: Error: no', '2 superseded'],
      ['completed', '1 completed'],
    ]);
  });

  it('a dead letter keeps what it tried, also when it is tried again', async () => {
    let isBroken = true;
    const dead = node.next('dead');
    await node.fire(kind, () => isBroken && fail(), { maxAttempts: 2 });
    await dead;
    const failed = ['1 failed: Error: no', '2 failed: Error: no'];
    expect(await told(node)).toEqual([['dead', ...failed]]);
    isBroken = false;
    await node.delays.retryDead(name, KEY);
    expect(await atEnd(kind)).toEqual([['completed', ...failed, '1 completed']]);
  });
});

it('while it runs, find and list say since when', async () => {
  const [begun, done] = [signal(), signal()];
  const fired = node.fire('plain', async () => {
    begun.resolve();
    await done.promise;
  });
  await begun.promise;
  const running = {
    attempt: 1,
    outcome: 'running',
    node: 'n1',
    startedAt: expect.any(Date),
    endedAt: null,
    error: null,
  };
  expect((await node.delays.find(NAMES.plain, KEY))?.attemptLog).toEqual([running]);
  expect((await node.admin.list({}))[0]?.attemptLog).toEqual([running]);
  done.resolve();
  await fired;
});

it('the last fifty are kept, and the beginning of each error', async () => {
  const dead = node.next('dead');
  await node.fire(
    'plain',
    (_, { attempt }) => {
      throw new Error(`${attempt} `.padEnd(3_000, 'x'));
    },
    { maxAttempts: 53 },
  );
  await dead;
  const log = (await node.delays.find(NAMES.plain, KEY))!.attemptLog;
  expect(log.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 50 }, (_, n) => n + 4));
  for (const { attempt, error } of log) {
    expect(error).toHaveLength(1_000);
    expect(error).toMatch(new RegExp(`^Error: ${attempt} x`));
  }
});
