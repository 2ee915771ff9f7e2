import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { type Attempt, OnDead } from '../../../src/delay-queue/core/worker/attempt.js';
import type { OnDeadParts } from '../../../src/delay-queue/core/worker/on-dead-calls.js';
import type { ExhaustedEnd } from '../../../src/delay-queue/core/worker/completer.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import { Outstanding } from '../../../src/delay-queue/core/tasks/outstanding.js';
import type { LookedRow } from '../../../src/delay-queue/core/store/sql/attempts.sql.js';
import { signal } from '../../support/delay-node.js';
import { toldPauses } from '../../support/told-pauses.js';

const pauses = toldPauses();
const { OnDeadCalls } = await import('../../../src/delay-queue/core/worker/on-dead-calls.js');

const NAME = 'test.exhausted';

/** Ids of the claims that were asked for. */
let asked: number[];
/** What the next claims meet; when none is left, a row that is no longer there. */
let script: ('down' | 'held' | 'gone' | Promise<void>)[];
/** Where the row of the latest claim is looked at. */
let isOurs: boolean;
let told: string[];
let outstanding: Outstanding;
let calls: InstanceType<typeof OnDeadCalls>;

const handler = { leaseMs: 1_000, timeoutMs: 1_000, maxAttempts: 1 };

beforeEach(() => {
  [asked, script, told, isOurs] = [[], [], [], false];
  pauses.retries.length = pauses.locked.length = 0;
  outstanding = new Outstanding();
  const events = new DelayEvents();
  events.on('taskFailed', ({ task }) => told.push(task));
  events.on('taskRecovered', ({ task }) => told.push(`${task} again`));
  const store = {
    nodeName: 'node',
    claimExhausted: async ({ id }: { id: number }) => {
      asked.push(id);
      const how = script.shift() ?? 'gone';
      if (how === 'down') throw new Error('down');
      isOurs = how === 'held';
      await how;
      return undefined;
    },
    lookAt: async ([id]: number[]) => [
      { id, epoch: 1, node: isOurs ? 'node' : 'another' } as LookedRow,
    ],
  };
  const registry = { get: (name: string) => (name === NAME ? { onDead: handler } : undefined) };
  const executor = { run: () => {} };
  const completer = { exhausted: outstanding };
  const parts = { store, registry, executor, jobs: new Jobs(), completer, events };
  calls = new OnDeadCalls(parts as unknown as OnDeadParts);
});

/** Its last attempt has failed here. @returns what became of it */
const fails = (id: number): Promise<ExhaustedEnd> => {
  const attempt = { id, epoch: 1, handler: { onDead: handler } } as unknown as Attempt;
  return calls.add(attempt, new OnDead('no', undefined));
};

/** It was found without an attempt left. */
const found = (id: number, name = NAME): boolean => calls.take({ id, epoch: 1, name } as never);

describe('an exhausted delay', () => {
  it('is claimed again after pauses that grow while the database fails, each for itself', async () => {
    script = ['down', 'down', 'down', 'gone'];
    expect(await fails(1)).toBe('gone');
    expect([pauses.retries, told]).toEqual([
      [1, 2, 3],
      ['deadLetter', 'deadLetter', 'deadLetter', 'deadLetter again'],
    ]);
    script = ['down'];
    await fails(2);
    expect(pauses.retries).toEqual([1, 2, 3, 1]);
  });

  it('is claimed again after pauses that grow while its own transaction holds the row', async () => {
    script = ['held', 'held', 'held', 'gone'];
    expect(await fails(1)).toBe('gone');
    expect([asked, pauses.locked]).toEqual([
      [1, 1, 1, 1],
      [1, 2, 3],
    ]);
  });

  it('is one at a time, and while one waits for its pause the others come first', async () => {
    script = ['down', 'gone', 'gone'];
    await Promise.all([fails(1), fails(2)]);
    expect(asked).toEqual([1, 2, 1]);
  });
});

describe('rows that were found without an attempt left', () => {
  it('are taken where their name has a method, a thousand at most, each once', async () => {
    const gate = signal();
    script = [gate.promise];
    expect(found(0, 'test.other')).toBe(false);
    // One of them is being claimed.
    for (let id = 0; id <= 1_001; id += 1) expect(found(id)).toBe(true);
    found(1);
    expect(outstanding.size).toBe(1_001);
    gate.resolve();
    await outstanding.whenEmpty(60_000);
    expect([asked.length, outstanding.size]).toEqual([1_001, 0]);
    expect(found(1_001)).toBe(true);
    await outstanding.whenEmpty(60_000);
    expect(asked).toHaveLength(1_002);
  });

  it('are left to others when one cannot be claimed, and when the node is ending', async () => {
    script = ['down'];
    found(1);
    await outstanding.whenEmpty(60_000);
    expect([asked, pauses.retries]).toEqual([[1], [1]]);
    const gate = signal();
    script = [gate.promise];
    found(2);
    found(3);
    const held = fails(4);
    calls.shut();
    found(5);
    gate.resolve();
    await held;
    await outstanding.whenEmpty(60_000);
    expect(asked.slice(1)).toEqual([2, 4]);
  });
});

it('what waits when the node ends is left to the next one', async () => {
  const gate = signal();
  script = [gate.promise];
  const all = [fails(1), fails(2)];
  await calls.drain(0);
  expect(await fails(3)).toBe('left');
  gate.resolve();
  expect(await Promise.all(all)).toEqual(['gone', 'left']);
  expect(asked).toEqual([1]);
});
