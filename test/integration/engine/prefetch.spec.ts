import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ScheduleItem } from 'nestjs-delay-queue';
import { type DelayNode, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import {
  AttemptStore,
  Jobs,
  Loop,
  type NameState,
  NameStates,
} from '../../support/engine-parts.js';

/** Delays of quick handlers are claimed before there is a place for them. */
const NAME = 'test.work';
const CONCURRENCY = 2;
const MANY = 60;

/** In the order in which they are due: a list is written in that of its keys. */
const KEYS = Array.from({ length: MANY }, (_, n) => `k${n + 10}`);
/** One that waits, behind others. */
const WAITS_AT = 4;
const WAITS = KEYS[WAITS_AT] as string;

type HandlerOf = typeof plainHandler | typeof fencedHandler;

let node: DelayNode;
let held: Promise<void> | undefined;
let open: () => void;
/** Keys in the order in which their handlers were called. */
let begun: string[];
let most: number;
/** How many each claim got. */
let claims: number[];
/** When a delay was claimed last. */
let askedAtMs: Map<number, number>;
let claimedAhead: Promise<string[]>;

const stage = stageOfEach({ release: () => open() });

beforeEach(() => {
  [begun, most, claims, held, open] = [[], 0, [], undefined, () => {}];
  askedAtMs = new Map();
  const ahead = signal<string[]>();
  claimedAhead = ahead.promise;
  stage.parts.intercept(AttemptStore, 'claim', async ({ real, given: [requests] }) => {
    for (const { id } of requests) askedAtMs.set(id, performance.now());
    const rows = await real();
    claims.push(rows.length);
    const keys = rows.map(({ key }) => key ?? '');
    if (keys.length > CONCURRENCY && keys.includes(WAITS)) ahead.resolve(keys);
    return rows;
  });
});

/** Changes the state of each name of the node that starts. */
function eachName(change: (name: NameState) => void): void {
  const changed = new Set<NameState>();
  stage.parts.intercept(NameStates, 'find', ({ real }) => {
    const name = real();
    if (name !== undefined && !changed.has(name)) change(name);
    if (name !== undefined) changed.add(name);
    return name;
  });
}

/** A node whose handlers were quick so far. From now on those that begin wait until `open`. */
async function startQuick(handlerOf: HandlerOf, options: object = {}): Promise<void> {
  let now = 0;
  const handler = handlerOf(
    NAME,
    async ({ key }) => {
      now += 1;
      most = Math.max(most, now);
      begun.push(key ?? '');
      await held;
      now -= 1;
    },
    { concurrency: CONCURRENCY },
  );
  // However busy the machine is: as quick as they are meant to be.
  eachName((name) => {
    const took = name.took.bind(name);
    name.took = (ms, atOnce) => took(held === undefined ? 0.1 : ms, atOnce);
  });
  node = await stage.start({ providers: [handler], options });
  await runSome();
  const gate = signal();
  [held, open] = [gate.promise, gate.resolve];
  [begun, claims] = [[], []];
}

/** A busy machine may hold a scene up for longer than anybody is kept waiting. */
function nobodyIsGivenBack(): void {
  stage.parts.replace(Loop, 'waitsMaxMs', () => Infinity);
}

/** Runs some until it is known how long they take: then more than have a place are claimed at once. */
async function runSome(): Promise<void> {
  const some = KEYS.slice(0, 10).map(() => ({ name: NAME, payload: null, after: 0 }) as const);
  while (Math.max(...claims) <= WAITS_AT) {
    await node.delays.scheduleMany(some);
    await stage.noneLeft();
  }
}

const schedule = (more: Partial<ScheduleItem> = {}): Promise<unknown> =>
  node.delays.scheduleMany(
    KEYS.map((key) => {
      const item = { name: NAME, payload: null, key, after: 0 } as const;
      return (key === WAITS ? { ...item, ...more } : item) as ScheduleItem;
    }),
  );

/** Each place is taken, and more are claimed. @returns the keys of one claim that has more than have a place */
async function waiting(): Promise<string[]> {
  const keys = await claimedAhead;
  await until(
    () => begun.length,
    (length) => length === CONCURRENCY,
  );
  return keys;
}

const counts = (): Promise<{ leased: number; spent: number; claimed: number }[]> =>
  stage.sql(
    `SELECT count(leased_by)::int AS leased, sum(attempts)::int AS spent,
            count(*) FILTER (WHERE epoch > 0)::int AS claimed
     FROM delay_queue.delay`,
  );

describe.each<[string, HandlerOf]>([
  ['plain', plainHandler],
  ['transactional', fencedHandler],
])('%s delays', (_, handlerOf) => {
  it('quick handlers: many for each claim, each in its turn, and no more at a time than may run', async () => {
    nobodyIsGivenBack();
    await startQuick(handlerOf);
    open();
    await schedule();
    await stage.noneLeft();
    // Two transactions may begin in another order than their calls.
    expect(handlerOf === plainHandler ? begun : begun.toSorted()).toEqual(KEYS);
    expect(most).toBeLessThanOrEqual(CONCURRENCY);
    // Two at a time it would be thirty.
    expect(claims.length).toBeLessThan(MANY / CONCURRENCY / 2);
  });

  it('one at a time: who waits is overtaken by nobody, also where handlers return no promise', async () => {
    nobodyIsGivenBack();
    const [gate, first] = [signal(), signal()];
    const order: string[] = [];
    const busy = ({ key }: { key: string | null }): Promise<void> | void => {
      order.push(key ?? '');
      first.resolve();
      if (order.length === 1) return gate.promise;
      const endsAtMs = performance.now() + 0.3;
      while (performance.now() < endsAtMs);
    };
    // They are known to be quick.
    eachName((name) => {
      name.roomToPrefetch = () => 20;
    });
    node = await stage.start({ providers: [handlerOf(NAME, busy, { concurrency: 1 })] });
    await schedule();
    await first.promise;
    await claimedAhead;
    gate.resolve();
    await stage.noneLeft();
    expect(order).toEqual(KEYS);
  });

  it('handlers that are suddenly slow give back what waits for them, no attempt is spent, and nobody waits for them any more', async () => {
    await startQuick(handlerOf);
    await schedule();
    await waiting();
    const [after] = await until(counts, ([row]) => row?.leased === CONCURRENCY);
    expect(after?.spent).toBe(CONCURRENCY);
    expect(after?.claimed).toBeGreaterThan(CONCURRENCY);
    const asked = claims.length;
    const completed = node.next('completed');
    open();
    await completed;
    // What comes then is claimed for a place that is free.
    await until(
      () => claims.length,
      (length) => length > asked,
    );
    expect(claims[asked]).toBeLessThanOrEqual(CONCURRENCY);
    await stage.noneLeft();
    expect(begun).toHaveLength(MANY);
    expect(new Set(begun)).toEqual(new Set(KEYS));
    expect(most).toBe(CONCURRENCY);
  });

  it('a node that stops gives back what waits: no handler was called, no attempt is spent', async () => {
    await startQuick(handlerOf, { drainTimeout: '100ms' });
    await schedule();
    await waiting();
    await node.stop();
    expect(await counts()).toEqual([{ leased: 0, spent: 0, claimed: expect.any(Number) }]);
    expect(begun).toHaveLength(CONCURRENCY);
  });

  it('one that waits is cancelled by an abort, and never begins', async () => {
    await startQuick(handlerOf);
    await schedule();
    await waiting();
    const heard = signal();
    stage.parts.intercept(Jobs, 'abort', ({ real }) => {
      real();
      heard.resolve();
    });
    const cancelled = node.delays.cancel(NAME, WAITS, { running: 'abort' });
    await Promise.race([heard.promise, cancelled]);
    open();
    expect(await cancelled).toMatchObject({ verdict: 'cancelled' });
    await stage.noneLeft();
    expect(begun).toHaveLength(MANY - 1);
    expect(begun).not.toContain(WAITS);
  });

  it('who waits begins later than it was claimed, and says so; whoever has one attempt alone goes first', async () => {
    nobodyIsGivenBack();
    await startQuick(handlerOf);
    await schedule({ maxAttempts: 1 });
    const keys = await waiting();
    const claimedAtMs = performance.now();
    const waits = keys.find((key) => !begun.includes(key));
    const completed = node.next('completed', ({ key }) => key === waits);
    const waitedMs = await until(
      () => performance.now() - claimedAtMs,
      (ms) => ms > 20,
    );
    open();
    expect((await completed).latenessMs).toBeGreaterThan(waitedMs);
    await stage.noneLeft();
    // Of two claims the later may be answered first: then it did not wait at all. And of two
    // transactions the later may begin first.
    expect(begun.indexOf(WAITS)).toBeLessThan(CONCURRENCY * 2);
  });
});

it('after the process stood still for longer than a lease nothing begins under it', async () => {
  const leaseMs = 1_000;
  const heldForMs: number[] = [];
  let blocksAt = 0;
  const handler = plainHandler(
    NAME,
    async ({ id }) => {
      heldForMs.push(performance.now() - (askedAtMs.get(Number(id)) ?? 0));
      // One of those that waited: others wait behind it.
      if (heldForMs.length !== blocksAt) return;
      const endsAtMs = performance.now() + leaseMs * 1.2;
      while (performance.now() < endsAtMs);
    },
    { concurrency: CONCURRENCY },
  );
  node = await stage.start({ providers: [handler], options: { lease: leaseMs } });
  await runSome();
  blocksAt = heldForMs.length + CONCURRENCY + 1;
  await schedule();
  await stage.noneLeft();
  expect(Math.max(...heldForMs)).toBeLessThan(leaseMs);
});
