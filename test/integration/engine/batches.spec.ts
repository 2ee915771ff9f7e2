import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DelayBatchContext, DelayInvalidError, DiscardDelay } from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import { signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { keys, keysOf, KINDS, startWith, untilLeft } from './support/batch-stage.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

describe.each(['plain', 'transactional'] as const)('a %s batch handler', (kind) => {
  it('gets what is due at once in as few calls as its batch allows, each delay once', async () => {
    const calls: string[][] = [];
    const { node, scheduleTogether } = await startWith(
      stage,
      kind,
      (delays) => {
        expect(delays.every(({ attempt }) => attempt === 1)).toBe(true);
        calls.push(keysOf(delays));
      },
      { batch: 40 },
    );
    await scheduleTogether(keys(90));
    await untilLeft(stage, 0);
    expect(calls.flat().toSorted()).toEqual(keys(90));
    expect(calls).toHaveLength(3);
    expect(Math.max(...calls.map((call) => call.length))).toBe(40);
    expect(await node.delays.history('test.batch', 'k10')).toMatchObject([
      { state: 'completed', attempts: 1 },
    ]);
  });

  it('runs as many calls at a time as its concurrency', async () => {
    const calls: { size: number; end: () => void }[] = [];
    const handler = KINDS[kind](
      'test.batch',
      async (delays) => {
        const end = signal();
        calls.push({ size: delays.length, end: end.resolve });
        await end.promise;
      },
      { batch: 5, concurrency: 2 },
    );
    const node = await stage.start({ providers: [handler] });
    await node.delays.scheduleMany(
      keys(30).map((key) => ({ name: 'test.batch', payload: null, key, after: 0 })),
    );
    let done = 0;
    for (let ended = 0; done < 30; ended += 1) {
      await until(
        () => calls.length,
        (count) => count > ended,
      );
      expect(calls.length - ended).toBeLessThanOrEqual(2);
      expect(calls[ended]!.size).toBeLessThanOrEqual(5);
      done += calls[ended]!.size;
      calls[ended]!.end();
    }
    await untilLeft(stage, 0);
  });

  it('that throws: each delay again alone, none for an attempt, and the poison alone fails', async () => {
    const calls: string[][] = [];
    const { node, scheduleTogether } = await startWith(
      stage,
      kind,
      (delays) => {
        calls.push(delays.map(({ key, attempt }) => `${key}/${attempt}`).toSorted());
        if (keysOf(delays).includes('k12')) throw new Error('poison');
      },
      { batch: 10, maxAttempts: 2 },
    );
    const split: string[] = [];
    node.events.on('split', ({ key, error }) => split.push(`${key}: ${error}`));
    const dead = node.next('dead');
    await scheduleTogether(keys(5));
    expect(await dead).toMatchObject({ key: 'k12', attempt: 2, error: 'Error: poison' });
    await untilLeft(stage, 1);
    expect(calls[0]).toEqual(keys(5).map((key) => `${key}/1`));
    expect(calls.slice(1).flat().toSorted()).toEqual([
      'k10/1',
      'k11/1',
      'k12/1',
      'k12/2',
      'k13/1',
      'k14/1',
    ]);
    expect(calls.slice(1).every((call) => call.length === 1)).toBe(true);
    expect(split.toSorted()).toEqual(keys(5).map((key) => `${key}: Error: poison`));
  });

  it('that throws a DiscardDelay: nobody knows whom it means until it comes alone', async () => {
    const { node, scheduleTogether } = await startWith(
      stage,
      kind,
      (delays) => {
        if (keysOf(delays).includes('k11')) throw new DiscardDelay('bad');
      },
      { batch: 10 },
    );
    const dead = node.next('dead');
    await scheduleTogether(keys(3));
    expect(await dead).toMatchObject({ key: 'k11', attempt: 1, error: 'bad' });
    await untilLeft(stage, 1);
  });

  it('that outlives its timeout is cut, and each delay runs again alone', async () => {
    const calls: string[][] = [];
    const { scheduleTogether } = await startWith(
      stage,
      kind,
      async (delays, ctx) => {
        calls.push(keysOf(delays));
        if (delays.length === 1) return;
        await new Promise((_, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
        });
      },
      { batch: 10, timeout: 2_000 },
    );
    await scheduleTogether(keys(3));
    await untilLeft(stage, 0);
    expect(calls.map((call) => call.length)).toEqual([3, 1, 1, 1]);
  });

  it('says of one delay alone that it failed, is to wait, or is a dead letter', async () => {
    const calls: string[][] = [];
    const { node, scheduleTogether } = await startWith(
      stage,
      kind,
      (delays, ctx) => {
        calls.push(delays.map(({ key, attempt }) => `${key}/${attempt}`).toSorted());
        for (const delay of delays) {
          if (delay.key === 'k10' && delay.attempt === 1) ctx.fail(delay, new Error('not yet'));
          if (delay.key === 'k11') ctx.postpone(delay, '1h');
          if (delay.key === 'k12') ctx.fail(delay, new DiscardDelay('never'));
        }
      },
      { batch: 10 },
    );
    const retrying = node.next('retrying');
    const dead = node.next('dead');
    await scheduleTogether(keys(5));
    expect(await retrying).toMatchObject({ key: 'k10', attempt: 1, error: 'Error: not yet' });
    expect(await dead).toMatchObject({ key: 'k12', attempt: 1, error: 'never' });
    await untilLeft(stage, 2);
    expect(calls).toEqual([keys(5).map((key) => `${key}/1`), ['k10/2']]);
    expect(await node.delays.find('test.batch', 'k11')).toMatchObject({
      state: 'scheduled',
      attempts: 0,
    });
    expect(await node.delays.find('test.batch', 'k12')).toMatchObject({ state: 'dead' });
  });

  it('is told what it says wrong, and nothing is decided by it', async () => {
    const told: unknown[] = [];
    let late: (() => void) | undefined;
    const trying = (what: () => void): void => {
      try {
        what();
      } catch (error) {
        told.push(error);
      }
    };
    const { node, scheduleTogether } = await startWith(
      stage,
      kind,
      ([delay], ctx) => {
        trying(() => ctx.fail({ ...delay!, id: '999999' }, new Error('whose?')));
        trying(() => ctx.fail(undefined as never, new Error('whose?')));
        trying(() => ctx.postpone(delay!, 'soon'));
        late = () => ctx.fail(delay!, new Error('too late'));
      },
      { batch: 10 },
    );
    const completed = node.next('completed', ({ key }) => key === 'k10');
    await scheduleTogether(keys(1));
    await completed;
    trying(() => late?.());
    expect(told.every((error) => error instanceof DelayInvalidError)).toBe(true);
    expect(told.map((error) => (error as DelayInvalidError).field)).toEqual([
      'delay',
      'delay',
      'after',
      'delay',
    ]);
    await untilLeft(stage, 0);
  });
});

it('a transactional batch commits together, or not at all', async () => {
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
  let isFirst = true;
  const { node, scheduleTogether } = await startWith(
    stage,
    'transactional',
    async (delays, { manager }) => {
      await manager!.query('INSERT INTO effect SELECT unnest($1::text[])', [keysOf(delays)]);
      if (!isFirst) return;
      isFirst = false;
      throw new Error('after the effect');
    },
    { batch: 10 },
  );
  await scheduleTogether(keys(6));
  await untilLeft(stage, 0);
  expect(keysOf(await effects(node.dataSource))).toEqual(keys(6));
});

const effects = (source: DataSource): Promise<{ key: string }[]> =>
  source.query('SELECT key FROM effect');

const MOVING = Array.from({ length: 8 }, (_, n) => `k${n}`);
const ROUNDS = 3;

it.each(['plain', 'transactional'] as const)(
  'a %s batch moves its own keys on, all of them in one call of scheduleMany',
  async (kind) => {
    const rounds = new Map<string, number>();
    const handler = KINDS[kind](
      'test.batch',
      async (delays, ctx: DelayBatchContext & { manager?: EntityManager }) => {
        const again: string[] = [];
        for (const { key } of delays) {
          const round = (rounds.get(key!) ?? 0) + 1;
          rounds.set(key!, round);
          if (round < ROUNDS) again.push(key!);
        }
        const items = again.map(
          (key) => ({ name: 'test.batch', payload: null, key, after: 5 }) as const,
        );
        const results = await node.delays.scheduleMany(items, { manager: ctx.manager });
        expect(results.every(({ verdict }) => verdict === 'scheduled')).toBe(true);
      },
      { batch: 10 },
    );
    const node = await stage.start({ providers: [handler] });
    const made = await node.delays.scheduleMany(
      MOVING.map((key) => ({ name: 'test.batch', payload: null, key, after: 0 })),
    );
    await until(
      () => [...rounds.values()],
      (done) => done.length === MOVING.length && done.every((round) => round === ROUNDS),
    );
    await stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === 0);
    // It was the same row all the time.
    const ends = await stage.sql(`SELECT DISTINCT id FROM delay_queue.history ORDER BY id`);
    expect(ends.map(({ id }) => String(id))).toEqual(made.map(({ id }) => id));
  },
);
