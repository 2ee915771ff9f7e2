import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import {
  type ExhaustedClaim,
  ExhaustedClaims,
  type HeldClaim,
  InFlight,
} from '../../../src/delay-queue/worker/claims.js';
import type { LookedRow } from '../../../src/delay-queue/store/rows/attempt-rows.js';
import { WheelService } from '../../../src/delay-queue/timer-wheel/wheel.service.js';
import { signal } from '../../support/delay-node.js';
import { toldPauses } from '../../support/told-pauses.js';

const pauses = toldPauses();
const { ExhaustedDelays } = await import('../../../src/delay-queue/worker/dead-letters.js');

const NAME = 'test.dying';

/** Ids of the claims that were asked for. */
let asked: number[];
/** What the next claims meet; when none is left, a row that is no longer there. */
let script: ('down' | 'held' | 'gone' | Promise<void>)[];
/** Where the row of the latest claim is looked at. */
let isOurs: boolean;
let told: string[];
let putOff: number[];
let unwritten: InFlight;
let claims: ExhaustedClaims;
let dying: InstanceType<typeof ExhaustedDelays>;

const wheel = new WheelService();
afterAll(() => wheel.onApplicationShutdown());

beforeEach(() => {
  [asked, script, told, putOff, isOurs] = [[], [], [], [], false];
  pauses.retries.length = pauses.locked.length = 0;
  unwritten = new InFlight();
  claims = new ExhaustedClaims(unwritten, { exhausted: (held) => dying.add(held) });
  const events = new DelayEvents();
  events.on('taskFailed', ({ task }) => told.push(task));
  events.on('taskRecovered', ({ task }) => told.push(`${task} again`));
  const store = {
    nodeName: 'node',
    fence: () => {},
    recur: () => {},
    claimExhausted: async ({ id }: { id: number }) => {
      asked.push(id);
      const how = script.shift() ?? 'gone';
      if (how === 'down') throw new Error('down');
      isOurs = how === 'held';
      await how;
      return undefined;
    },
    lookAt: async ([id]: number[]) => [
      { id, epoch: 1, leased_by: isOurs ? 'node' : 'another' } as LookedRow,
    ],
  };
  const completer = {
    exhausted: claims,
    putOff: ({ id }: HeldClaim, _: unknown, tell: (result: string) => void) => {
      putOff.push(id);
      tell('written');
    },
  };
  const handler = { leaseMs: 1_000, timeoutMs: 1_000, maxAttempts: 1, onDead: {} };
  dying = new ExhaustedDelays({
    wheel,
    fenced: {},
    store,
    registry: { get: (name: string) => (name === NAME ? handler : undefined) },
    completer,
    inFlight: new InFlight(),
    names: {},
    events,
  } as never);
});

const claimOf = (id: number): HeldClaim =>
  ({ id, epoch: 1, handler: { leaseMs: 1_000, timeoutMs: 1_000, maxAttempts: 1 } }) as HeldClaim;

/** Its last attempt has ended here. @returns what became of it */
const dies = (id: number): Promise<Parameters<ExhaustedClaim['over']>[0]> =>
  new Promise((resolve) => claims.add(claimOf(id), 'no', undefined, resolve));

/** It was found without an attempt left. */
const found = (id: number, name = NAME): boolean => dying.takes({ id, epoch: 1, name } as never);

describe('a delay that dies', () => {
  it('is claimed again after pauses that grow while the database fails, each for itself', async () => {
    script = ['down', 'down', 'down', 'gone'];
    expect(await dies(1)).toBe('gone');
    expect([pauses.retries, told]).toEqual([
      [1, 2, 3],
      ['deadLetter', 'deadLetter', 'deadLetter', 'deadLetter again'],
    ]);
    script = ['down'];
    await dies(2);
    expect(pauses.retries).toEqual([1, 2, 3, 1]);
  });

  it('is claimed again after pauses that grow while its own transaction holds the row', async () => {
    script = ['held', 'held', 'held', 'gone'];
    expect(await dies(1)).toBe('gone');
    expect([asked, pauses.locked]).toEqual([
      [1, 1, 1, 1],
      [1, 2, 3],
    ]);
  });

  it('keeps its lease until it is claimed anew or gone, and nothing of it stays', async () => {
    const gate = signal();
    script = [gate.promise];
    const over = dies(1);
    expect([unwritten.size, claims.size]).toEqual([1, 1]);
    gate.resolve();
    await over;
    expect([unwritten.size, claims.size]).toEqual([0, 0]);
    await Promise.all(Array.from({ length: 1_000 }, (_, id) => dies(id)));
    expect([unwritten.size, claims.size, asked.length]).toEqual([0, 0, 1_001]);
  });

  it('is one at a time, and while one waits for its pause the others come first', async () => {
    script = ['down', 'gone', 'gone'];
    await Promise.all([dies(1), dies(2)]);
    expect(asked).toEqual([1, 2, 1]);
  });
});

describe('rows of processes that died', () => {
  it('are taken over where their name has a method, a thousand at most, each once', async () => {
    const gate = signal();
    script = [gate.promise];
    expect(found(0, 'test.other')).toBe(false);
    // One of them is being claimed.
    for (let id = 0; id <= 1_001; id += 1) expect(found(id)).toBe(true);
    found(1);
    expect(claims.size).toBe(1_001);
    gate.resolve();
    await claims.whenEmpty(60_000);
    expect([asked.length, claims.size]).toEqual([1_001, 0]);
    expect(found(1_001)).toBe(true);
    await claims.whenEmpty(60_000);
    expect(asked).toHaveLength(1_002);
  });

  it('are left to others when one cannot be claimed, and when the node is ending', async () => {
    script = ['down'];
    found(1);
    await claims.whenEmpty(60_000);
    expect([asked, pauses.retries]).toEqual([[1], [1]]);
    const gate = signal();
    script = [gate.promise];
    found(2);
    found(3);
    const held = dies(4);
    dying.shut();
    found(5);
    gate.resolve();
    await held;
    await claims.whenEmpty(60_000);
    expect(asked.slice(1)).toEqual([2, 4]);
  });
});

it('what is left when the node ends is put off', async () => {
  const gate = signal();
  script = [gate.promise];
  const all = [dies(1), dies(2)];
  const drained = dying.drain(0);
  await drained;
  expect(putOff).toEqual([2]);
  const late = dies(3);
  expect(await late).toBe('claimed');
  gate.resolve();
  expect(await Promise.all(all)).toEqual(['gone', 'claimed']);
  expect([asked, claims.size]).toEqual([[1], 0]);
});
