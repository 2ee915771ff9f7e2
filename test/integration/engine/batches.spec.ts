import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Delay,
  type DelayBatchContext,
  DelayInvalidError,
  DiscardDelay,
  type OnDelayBatchOptions,
} from 'nestjs-delay-queue';
import type { DataSource, EntityManager } from 'typeorm';
import {
  batchHandler,
  type DelayNode,
  fencedBatchHandler,
  signal,
} from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from './support/stage.js';

type Context = DelayBatchContext & { manager?: EntityManager };
type Run = (delays: Delay[], ctx: Context) => Promise<void> | void;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const KINDS = { plain: batchHandler, transactional: fencedBatchHandler };
const keysOf = (delays: readonly { key: string | null }[]): string[] =>
  delays.map(({ key }) => key ?? '').toSorted();

/**
 * A node whose only slot is taken by a first call, so that all that is scheduled meanwhile is due
 * when that call ends: what the next call gets is no matter of timing.
 */
async function startWith(
  kind: keyof typeof KINDS,
  run: Run,
  options: OnDelayBatchOptions,
): Promise<{ node: DelayNode; scheduleTogether: (keys: string[]) => Promise<void> }> {
  const begun = signal();
  const goOn = signal();
  const handler = KINDS[kind](
    'test.batch',
    async (delays, ctx) => {
      if (delays[0]?.key !== 'first') return run(delays, ctx);
      begun.resolve();
      await goOn.promise;
    },
    { concurrency: 1, ...options },
  );
  const node = await stage.start({ providers: [handler] });
  return {
    node,
    async scheduleTogether(keys) {
      await node.delays.schedule('test.batch', null, { after: 0, key: 'first' });
      await begun.promise;
      await node.delays.scheduleMany(
        keys.map((key) => ({ name: 'test.batch', payload: null, key, after: 0 })),
      );
      // Due by the database's clock: what is claimed now is claimed together.
      await stage.until<{ due: boolean }>(
        `SELECT bool_and(wake_at <= clock_timestamp()) AS due FROM delay_queue.delay`,
        ([row]) => row?.due === true,
      );
      goOn.resolve();
    },
  };
}

const untilEmpty = (): Promise<unknown> =>
  stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === 0);

const keys = (count: number): string[] => Array.from({ length: count }, (_, n) => `k${n + 10}`);

describe.each(['plain', 'transactional'] as const)('a %s batch handler', (kind) => {
  it('gets what is due at once in as few calls as its batch allows, each delay once', async () => {
    const calls: string[][] = [];
    const { node, scheduleTogether } = await startWith(
      kind,
      (delays) => {
        expect(delays.every(({ attempt }) => attempt === 1)).toBe(true);
        calls.push(keysOf(delays));
      },
      { batch: 40 },
    );
    await scheduleTogether(keys(90));
    await untilEmpty();
    expect(calls.flat().toSorted()).toEqual(keys(90));
    expect(calls.map((call) => call.length)).toEqual([40, 40, 10]);
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
    await untilEmpty();
  });

  it('that throws: each delay again alone, none for an attempt, and the poison alone fails', async () => {
    const calls: string[][] = [];
    const { node, scheduleTogether } = await startWith(
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
    await stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === 1);
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
      kind,
      (delays) => {
        if (keysOf(delays).includes('k11')) throw new DiscardDelay('bad');
      },
      { batch: 10 },
    );
    const dead = node.next('dead');
    await scheduleTogether(keys(3));
    expect(await dead).toMatchObject({ key: 'k11', attempt: 1, error: 'bad' });
    await stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === 1);
  });

  it('that outlives its timeout is cut, and each delay runs again alone', async () => {
    const calls: string[][] = [];
    const { scheduleTogether } = await startWith(
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
    await untilEmpty();
    expect(calls.map((call) => call.length)).toEqual([3, 1, 1, 1]);
  });

  it('says of one delay alone that it failed, is to wait, or is a dead letter', async () => {
    const calls: string[][] = [];
    const { node, scheduleTogether } = await startWith(
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
    await stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === 2);
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
      kind,
      ([delay], ctx) => {
        trying(() => ctx.fail({ ...delay!, id: '999999' }, new Error('whose?')));
        trying(() => ctx.fail(undefined as never, new Error('whose?')));
        trying(() => ctx.postpone(delay!, 'soon' as never));
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
    await untilEmpty();
  });
});

it('a transactional batch commits together, or not at all', async () => {
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
  let isFirst = true;
  const { node, scheduleTogether } = await startWith(
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
  await untilEmpty();
  expect(keysOf(await effects(node.dataSource))).toEqual(keys(6));
});

const effects = (source: DataSource): Promise<{ key: string }[]> =>
  source.query('SELECT key FROM effect');
