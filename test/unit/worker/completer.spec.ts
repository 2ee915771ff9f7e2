import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { delayChannels, DelayEvents } from 'nestjs-delay-queue';
import type { Occurrence } from '../../../src/delay-queue/core/recurrence/occurrence.js';
import { Completer, type ExhaustedEnd } from '../../../src/delay-queue/core/worker/completer.js';
import type { Attempt, OnDead, Outcome } from '../../../src/delay-queue/core/worker/attempt.js';
import type { Wake } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { signal } from '../../support/delay-node.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';
import type { AttemptStore } from '../../../src/delay-queue/core/store/attempt.store.js';
import type { Retry } from '../../../src/delay-queue/core/store/rows/attempt-rows.js';
import type { EndedOccurrence } from '../../../src/delay-queue/core/store/rows/attempt-rows.js';

type PassOn = { id: number; epoch: number; waitMs: number | null };
type Claim = { -readonly [Field in keyof Attempt]: Attempt[Field] };

/** Rows that are other claims' by now, and what Postgres does not take of which. */
let gone: Set<number>;
let refused: Set<string>;
/** What was written, and what was told of it. */
let written: string[];
let retries: Retry[];
let recurred: EndedOccurrence[];
/** What others were asked to take, and what was told of it. */
let passedOn: (PassOn & { aliveMs: number })[];
let passed: Wake[];
let told: string[];
let freed: number[];
let deadAttempt: number;
let completer: Completer;
let jobs: Jobs;
/** What it has reported. */
let waits: Wake[];
let wrote: number;
let exhausted: (onDead: OnDead) => ExhaustedEnd | Promise<ExhaustedEnd>;

const EVENTS = [
  'completed',
  'retrying',
  'dead',
  'lost',
  'superseded',
  'postponed',
  'released',
  'aborted',
  'split',
  'unreadable',
] as const;

const takes = <Item extends { id: number }>(what: string, items: readonly Item[]): Item[] => {
  if (items.some(({ id }) => refused.has(`${what} ${id}`)))
    throw Object.assign(new Error('no'), { code: '23514' });
  const taken = items.filter(({ id }) => !gone.has(id));
  written.push(...taken.map(({ id }) => `${what} ${id}`));
  return taken;
};

const idsOf = (items: readonly { id: number }[]): number[] => items.map(({ id }) => id);

beforeEach(() => {
  [gone, refused, written, retries, told, freed] = [new Set(), new Set(), [], [], [], []];
  [recurred, passedOn, passed] = [[], [], []];
  const store = {
    nodeName: 'node',
    complete: async (items: Attempt[], _: unknown, reduced: number) =>
      idsOf(takes(reduced > 0 ? 'unlogged' : 'complete', items)),
    retry: async (items: Retry[]) => {
      const taken = takes('retry', items);
      retries.push(...taken);
      return taken.map(({ id, epoch, waitMs, ends }) => ({
        id,
        epoch: epoch + 1,
        name: 'a',
        group: null,
        failed: ends === 'failed',
        wake_ms: waitMs,
      }));
    },
    recur: async (items: EndedOccurrence[]) => {
      const taken = takes('recur', items);
      recurred.push(...taken);
      return taken.map(({ id, nextMs }) => ({ id, epoch: 9, name: 'a', wake_ms: nextMs }));
    },
    passOn: async (items: PassOn[], aliveMs: number) => {
      passedOn.push(...items.map((item) => ({ ...item, aliveMs })));
      const taken = takes('pass on', items);
      return taken.map(({ id, epoch }) => ({
        id,
        epoch: epoch + 1,
        name: 'a',
        group: null,
        passed: id > 10,
        wake_ms: 7,
      }));
    },
    lookAt: async () => [],
  } as unknown as AttemptStore;
  const events = new DelayEvents();
  for (const name of EVENTS)
    events.on(name, ({ id }: { id: string }) => told.push(`${name} ${id}`));
  events.on('dead', ({ attempt }) => (deadAttempt = attempt));
  [waits, wrote, exhausted] = [[], 0, () => 'claimed'];
  jobs = new Jobs();
  completer = new Completer(
    { store, events, aliveMs: 1_000, jobs },
    {
      wrote: () => (wrote += 1),
      waits: (wake) => waits.push(wake),
      freed: ({ id }) => freed.push(id),
      passed: (wake) => passed.push(wake),
      exhausted: async (_, onDead) => exhausted(onDead),
      found: () => false,
    },
  );
});

function claim(id: number, odd: Partial<Claim> = {}, handler: object = {}): Attempt {
  return {
    id,
    epoch: 1,
    row: { name: 'a', key: null, extras: null, attempts: 1, max_attempts: 2 },
    extras: { group: null, headers: {}, repeat: null },
    handler: { transactional: false, limits: {}, backoffMs: (n: number) => n * 100, ...handler },
    event: { id: String(id) },
    occurrence: null,
    onDead: null,
    over: true,
    movedOn: false,
    calledAtMs: performance.now(),
    latenessMs: 0,
    ...odd,
  } as unknown as Attempt;
}

/** What one statement refuses goes to another. */
async function drained(): Promise<void> {
  for (let rounds = 0; rounds < 5; rounds += 1) await completer.drain(10_000);
}

/** Until all is written. @returns what was told */
async function report(of: Attempt, outcome: Outcome): Promise<string[]> {
  completer.report(of, outcome);
  await drained();
  expect([completer.size, jobs.unwritten().length]).toEqual([0, 0]);
  return told;
}

const no = new Error('no');

describe('an attempt that ends', () => {
  it.each<[Outcome, string, Partial<Retry> | undefined]>([
    [{ kind: 'completed' }, 'completed', undefined],
    [{ kind: 'failed', error: no }, 'retrying', { waitMs: 100, refund: 0, ends: 'failed' }],
    [{ kind: 'split', error: no }, 'split', { waitMs: 0, refund: 1, ends: 'split' }],
    [{ kind: 'discarded', reason: no }, 'dead', { waitMs: null, refund: 0, ends: 'failed' }],
    [{ kind: 'postponed', waitMs: 7 }, 'postponed', { waitMs: 7, refund: 1, movesDue: true }],
    [{ kind: 'released' }, 'released', { waitMs: 0, refund: 1, ends: 'released' }],
    [{ kind: 'aborted' }, 'aborted', { waitMs: 1_000, refund: 1, ends: 'aborted' }],
  ])('%j is told as %s, once it is written', async (outcome, event, retry) => {
    expect(await report(claim(1), outcome)).toEqual([`${event} 1`]);
    expect(retries).toMatchObject(retry === undefined ? [] : [retry]);
    expect(written).toEqual([retry === undefined ? 'complete 1' : 'retry 1']);
    expect(freed).toEqual([1]);
  });

  it('that never began is given back without a word', async () => {
    expect(await report(claim(1), { kind: 'unbegun', error: no, waitMs: 5 })).toEqual([]);
    expect(retries).toMatchObject([{ waitMs: 5, refund: 1, ends: 'unbegun' }]);
  });

  it('that was the last is a dead letter, one before it is not', async () => {
    const row = { name: 'a', extras: null, attempts: 2, max_attempts: 2 } as never;
    await report(claim(1, { row }), { kind: 'failed', error: no });
    await report(claim(2), { kind: 'failed', error: no });
    expect(told).toEqual(['dead 1', 'retrying 2']);
    expect(retries.map(({ waitMs }) => waitMs)).toEqual([null, 100]);
  });

  it('whose claim is lost writes nothing', async () => {
    expect(await report(claim(1), { kind: 'lost' })).toEqual(['lost 1']);
    expect([written, freed]).toEqual([[], []]);
  });
});

describe('an attempt whose row is another’s by now', () => {
  it.each<Outcome>([{ kind: 'completed' }, { kind: 'failed', error: no }, { kind: 'released' }])(
    '%j is told as lost, or as superseded where its handler moved the row on',
    async (outcome) => {
      gone = new Set([1, 2]);
      await report(claim(1), outcome);
      await report(claim(2, { movedOn: true }), outcome);
      expect(told).toEqual(['lost 1', 'superseded 2']);
      expect(freed).toEqual([1, 2]);
    },
  );
});

describe('an attempt whose end Postgres refuses', () => {
  it.each([
    ['complete 1', 'completed 1', 'unlogged 1'],
    ['complete 1, unlogged 1', 'dead 1', 'retry 1'],
    ['complete 1, unlogged 1, retry 1', 'lost 1', undefined],
  ])('without %s is told as %s, and no longer held', async (without, event, what) => {
    refused = new Set(without.split(', '));
    expect(await report(claim(1), { kind: 'completed' })).toEqual([event]);
    expect([written, freed]).toEqual([what === undefined ? [] : [what], [1]]);
  });

  it('and that failed is told as lost', async () => {
    refused = new Set(['retry 1']);
    expect(await report(claim(1), { kind: 'failed', error: no })).toEqual(['lost 1']);
  });
});

describe('a transactional attempt', () => {
  it('has removed its row itself: what goes on is told of, and its place is free', async () => {
    const goesOn = { id: 1, epoch: 5 } as never;
    await report(claim(1, { goesOn }, { transactional: true }), { kind: 'completed' });
    await report(claim(2, { movedOn: true }, { transactional: true }), { kind: 'completed' });
    expect([told, waits, written, freed]).toEqual([
      ['completed 1', 'superseded 2'],
      [goesOn],
      [],
      [1, 2],
    ]);
  });
});

const occurrence = {
  dueMs: 1,
  goesOn: () => ({ nextMs: 2, skipped: undefined, more: {} }),
} as unknown as Occurrence;
const nowhere = {
  goesOn: () => {
    throw new Error('never');
  },
} as unknown as Occurrence;

describe('what recurs', () => {
  it('goes on, however its occurrence has ended', async () => {
    await report(claim(1, { occurrence }), { kind: 'completed' });
    await report(claim(2, { occurrence }), { kind: 'discarded', reason: no });
    expect(written).toEqual(['recur 1', 'recur 2']);
    expect(told).toEqual(['completed 1', 'dead 2']);
  });

  it('is a dead letter where it goes nowhere', async () => {
    await report(claim(1, { occurrence: nowhere }), { kind: 'completed' });
    expect([written, told]).toEqual([['retry 1'], ['dead 1']]);
  });

  it('whose end is refused is a dead letter', async () => {
    refused = new Set(['recur 1']);
    expect(await report(claim(1, { occurrence }), { kind: 'completed' })).toEqual(['dead 1']);
    // Its limits have capacity once something is written, and not before.
    expect([written, freed]).toEqual([['retry 1'], [1]]);
  });
});

const skip = async (id: number, of: Occurrence): Promise<void> => {
  completer.skip({ id, epoch: 1, latenessMs: 5, occurrence: of } as Attempt);
  await drained();
};

describe('an occurrence that is skipped', () => {
  /** Nothing of the delay but that it waits for no attempt, and why. */
  const REFUSED = {
    waitMs: null,
    movesDue: false,
    refund: 1,
    error: 'this version cannot read how the delay recurs',
    ends: 'unbegun',
  };

  it('is written without an end, and where its delay waits next is told of', async () => {
    await skip(1, occurrence);
    expect([written, retries, waits]).toEqual([
      ['recur 1'],
      [],
      [expect.objectContaining({ id: 1, wakeMs: 2 })],
    ]);
    expect(recurred).toMatchObject([{ state: null, error: null, latenessMs: null, nextMs: 2 }]);
    await report(claim(2, { occurrence, latenessMs: 7 }), { kind: 'completed' });
    await report(claim(3, { occurrence, latenessMs: 7 }), { kind: 'discarded', reason: no });
    expect(recurred.slice(1)).toMatchObject([{ latenessMs: 7 }, { latenessMs: null }]);
  });

  it.each<[string, string[], Occurrence]>([
    ['that never comes again', [], nowhere],
    ['whose end Postgres refuses', ['recur 1'], occurrence],
  ])('and %s is a dead letter', async (_, refuses, of) => {
    refused = new Set(refuses);
    await skip(1, of);
    expect([written, retries]).toEqual([['retry 1'], [expect.objectContaining(REFUSED)]]);
  });
});

describe('an exhausted delay with an @OnDeadDelay', () => {
  const cause = new Error('no');
  const ends = async (end: ExhaustedEnd, odd: Partial<Claim> = {}): Promise<void> => {
    exhausted = (onDead) => {
      expect(onDead).toMatchObject({ error: 'Error: no', cause });
      return end;
    };
    await report(claim(1, odd, { onDead: {} }), { kind: 'discarded', reason: cause });
  };

  it.each<[object, string]>([
    [{}, 'lost 1'],
    [{ movedOn: true }, 'superseded 1'],
  ])('that is gone by then is told of as any, and its place is free: %j', async (odd, event) => {
    await ends('gone', odd);
    expect([told, freed, wrote]).toEqual([[event], [1], 1]);
  });

  it('that was claimed for it keeps its place until that has ended', async () => {
    await ends('claimed');
    expect([told, freed, written]).toEqual([[], [], []]);
  });

  it('that is left to the next node is given back as a failed attempt', async () => {
    await ends('left');
    expect([told, freed]).toEqual([[], [1]]);
    expect(retries).toMatchObject([{ waitMs: 0, refund: 0, error: 'Error: no', ends: 'failed' }]);
  });

  it('that is left, and gone before it is given back, has ended on its channel once', async () => {
    const ended: unknown[] = [];
    const heard = (message: unknown): void =>
      void ended.push((message as { outcome: string }).outcome);
    const { asyncEnd } = delayChannels.attempt;
    asyncEnd.subscribe(heard);
    gone = new Set([1]);
    await ends('left', { message: {} as never });
    asyncEnd.unsubscribe(heard);
    expect([ended, told]).toEqual([['exhausted'], ['lost 1']]);
  });

  it('keeps its lease until then, and counts', async () => {
    const gate = signal<ExhaustedEnd>();
    exhausted = () => gate.promise;
    completer.report(claim(1, {}, { onDead: {} }), { kind: 'discarded', reason: cause });
    expect([jobs.unwritten().length, completer.size]).toEqual([1, 1]);
    gate.resolve('claimed');
    await completer.drain(10_000);
    expect([jobs.unwritten().length, completer.size]).toEqual([0, 0]);
  });
});

it('what is not written keeps its lease, and once it is closed nothing is written any more', async () => {
  completer.close();
  completer.report(claim(1), { kind: 'completed' });
  completer.report(claim(2), { kind: 'failed', error: no });
  completer.report(claim(3), { kind: 'unreadable', error: no });
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  expect([written, completer.size, jobs.unwritten().length]).toEqual([[], 3, 3]);
});

async function passOn(...ids: number[]): Promise<void> {
  for (const id of ids) completer.report(claim(id), { kind: 'unreadable', error: no });
  while (completer.size > 0) await new Promise(setImmediate);
}

const leaves = (id: number, epoch: number, how: { refused?: boolean } = {}): boolean =>
  jobs.isLeft({ id, epoch, ...how });

describe('what this node cannot read', () => {
  const HALF_A_MINUTE_MS = 30_000;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'], now: 0 });
    jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  it('is passed on where another may, has failed where none may, and is lost where it is gone', async () => {
    gone = new Set([13]);
    await passOn(12, 1, 13);
    expect(told.toSorted()).toEqual(['lost 13', 'retrying 1', 'unreadable 12']);
    expect(new Set(freed)).toEqual(new Set([12, 1, 13]));
    const wake = { id: 12, epoch: 2, name: 'a', group: null, wakeMs: 7, stalled: false };
    expect(passed).toEqual([wake]);
    expect(passedOn).toMatchObject([12, 1, 13].map((id) => ({ id, waitMs: null, aliveMs: 1_000 })));
    expect([12, 1, 13].map((id) => leaves(id, 2))).toEqual([true, false, false]);
  });

  it('is left to others for half a minute, as it is or as another one has refused it', async () => {
    await passOn(11);
    expect([leaves(11, 1), leaves(11, 2), leaves(11, 3, { refused: true })]).toEqual([
      false,
      true,
      true,
    ]);
    jest.advanceTimersByTime(HALF_A_MINUTE_MS - 1);
    expect(leaves(11, 2)).toBe(true);
    jest.advanceTimersByTime(1);
    expect(leaves(11, 2)).toBe(false);
  });

  it('is any node’s when it is written anew, and when nodes come or go', async () => {
    await passOn(11, 12);
    expect([leaves(11, 3), leaves(11, 2)]).toEqual([false, false]);
    expect([leaves(12, 3, { refused: false }), leaves(12, 2)]).toEqual([false, false]);
    await passOn(13);
    jobs.leaveNothing();
    expect(leaves(13, 2)).toBe(false);
  });

  it('is remembered up to a limit, and of what is beyond that the row itself waits', async () => {
    await passOn(...Array.from({ length: 50_000 }, (_, id) => 100 + id));
    expect(passedOn.every(({ waitMs }) => waitMs === null)).toBe(true);
    await passOn(60_000);
    expect([passedOn.at(-1)?.waitMs, leaves(60_000, 2)]).toEqual([HALF_A_MINUTE_MS, false]);
    expect(passed).toHaveLength(50_001);
    // One that is passed on again is the youngest.
    await passOn(101);
    jest.advanceTimersByTime(HALF_A_MINUTE_MS);
    await passOn(70_000);
    expect([passedOn.at(-1)?.waitMs, leaves(70_000, 2)]).toEqual([null, true]);
  });
});

it('what is given back, and never was this node’s, is told of all the same', async () => {
  gone = new Set([2]);
  const back: number[] = [];
  for (const id of [1, 2]) completer.giveBack(id, 1, () => back.push(id));
  await completer.drain(10_000);
  expect([new Set(back), written]).toEqual([new Set([1, 2]), ['retry 1']]);
  for (const id of [1, 2]) {
    const row = { id, attempts: 3 };
    completer.setAside({ id, epoch: 1, row, extras: {} } as Attempt, 'odd');
  }
  await completer.drain(10_000);
  // The claim has counted an attempt whose handler was not called.
  expect([told, deadAttempt]).toEqual([['dead 1'], 2]);
});

it('where a delay waits now is told of, but for a dead letter', async () => {
  await report(claim(1), { kind: 'failed', error: no });
  await report(claim(2), { kind: 'discarded', reason: no });
  expect(waits).toMatchObject([{ id: 1, epoch: 2, failed: true }]);
});

it('of a thousand that ended nothing is kept', async () => {
  for (let id = 1; id <= 1_000; id += 1) {
    const outcome: Outcome = id % 2 ? { kind: 'completed' } : { kind: 'failed', error: no };
    completer.report(claim(id), outcome);
  }
  expect(completer.size).toBe(1_000);
  await completer.drain(10_000);
  expect([completer.size, jobs.unwritten().length, freed.length]).toEqual([0, 0, 1_000]);
});
