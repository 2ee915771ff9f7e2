import { describe, expect, it } from '@jest/globals';
import { DelayInvalidError, DiscardDelay } from 'nestjs-delay-queue';
import { until } from '../../support/until.js';
import { batchOf, keys, keysOf, KINDS, startWith, untilLeft } from './support/batch-stage.js';
import { EFFECT_TABLE, stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach({ tables: EFFECT_TABLE });

/** The calls of a handler, as `key/attempt`. */
let calls: string[][];
const note = (delays: readonly { key: string | null; attempt: number }[]): void =>
  void calls.push(delays.map(({ key, attempt }): string => `${key}/${attempt}`).toSorted());
const first = (count: number): string[] => keys(count).map((key) => `${key}/1`);

it('a batch handler gets what is due at once in as few calls as its batch allows, each delay once', async () => {
  calls = [];
  const { node, scheduleTogether } = await startWith(stage, 'plain', note, { batch: 40 });
  await scheduleTogether(keys(90));
  await untilLeft(stage, 0);
  expect(calls.flat().toSorted()).toEqual(first(90));
  expect(calls).toHaveLength(3);
  expect(Math.max(...calls.map(({ length }) => length))).toBe(40);
  expect(await node.delays.history('test.batch', 'k10')).toMatchObject([
    { state: 'completed', attempts: 1 },
  ]);
});

describe.each(['plain', 'transactional'] as const)('a %s batch handler', (kind) => {
  it.each([
    ['an error', new Error('poison'), 'Error: poison', 2],
    // Nobody knows whom it means until it comes alone.
    ['a DiscardDelay', new DiscardDelay('bad'), 'bad', 1],
  ])(
    'that throws %s: each delay again alone, none for an attempt, and the poison alone fails',
    async (_, thrown, error, attempt) => {
      calls = [];
      const { node, scheduleTogether } = await startWith(
        stage,
        kind,
        async (delays, { manager }) => {
          note(delays);
          await manager?.query('INSERT INTO effect SELECT unnest($1::text[])', [keysOf(delays)]);
          if (keysOf(delays).includes('k12')) throw thrown;
        },
        { maxAttempts: 2 },
      );
      const split: string[] = [];
      node.events.on('split', ({ key, error: of }) => split.push(`${key}: ${of}`));
      const dead = node.next('dead');
      await scheduleTogether(keys(5));
      expect(await dead).toMatchObject({ key: 'k12', attempt, error });
      await untilLeft(stage, 1);
      expect(calls[0]).toEqual(first(5));
      const alone = attempt === 1 ? first(5) : [...first(5), 'k12/2'];
      expect(calls.slice(1).flat().toSorted()).toEqual(alone.toSorted());
      expect(calls.slice(1).every(({ length }) => length === 1)).toBe(true);
      expect(split.toSorted()).toEqual(keys(5).map((key) => `${key}: ${error}`));
      // Those of a transaction commit together, or not at all.
      const effects = await stage.sql<{ key: string }>('SELECT key FROM effect');
      const others = keys(5).filter((key) => key !== 'k12');
      expect(keysOf(effects)).toEqual(kind === 'plain' ? [] : others);
    },
  );

  it('that outlives its timeout is cut, and each delay runs again alone', async () => {
    calls = [];
    const { scheduleTogether } = await startWith(
      stage,
      kind,
      async (delays, ctx) => {
        note(delays);
        if (delays.length === 1) return;
        await new Promise((_, reject) => {
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
        });
      },
      { timeout: 1_000 },
    );
    await scheduleTogether(keys(3));
    await untilLeft(stage, 0);
    expect(calls[0]).toEqual(first(3));
    const alone = calls.slice(1);
    expect(alone.every(({ length }) => length === 1)).toBe(true);
    // The timeout is theirs, too: on a busy machine one may need another attempt.
    const firstOnes = alone.flat().filter((call) => call.endsWith('/1'));
    expect(firstOnes.toSorted()).toEqual(first(3));
  });

  it('says of one delay alone that it failed, is to wait, or is a dead letter; what it says wrong decides nothing', async () => {
    calls = [];
    const refused: unknown[] = [];
    const trying = (what: () => void): void => {
      try {
        what();
      } catch (error) {
        refused.push(error);
      }
    };
    let late: (() => void) | undefined;
    const { node, scheduleTogether } = await startWith(stage, kind, (delays, ctx) => {
      note(delays);
      for (const delay of delays) {
        if (delay.key === 'k10' && delay.attempt === 1) ctx.fail(delay, new Error('not yet'));
        if (delay.key === 'k11') ctx.postpone(delay, '1h');
        if (delay.key === 'k12') ctx.fail(delay, new DiscardDelay('never'));
        if (delay.key !== 'k13') continue;
        trying(() => ctx.fail({ ...delay, id: '999999' }, new Error('whose?')));
        trying(() => ctx.fail(undefined as never, new Error('whose?')));
        trying(() => ctx.postpone(delay, 'soon'));
        late = () => ctx.fail(delay, new Error('too late'));
      }
    });
    const retrying = node.next('retrying');
    const dead = node.next('dead');
    await scheduleTogether(keys(5));
    expect(await retrying).toMatchObject({ key: 'k10', attempt: 1, error: 'Error: not yet' });
    expect(await dead).toMatchObject({ key: 'k12', attempt: 1, error: 'never' });
    await untilLeft(stage, 2);
    trying(() => late?.());
    expect(calls).toEqual([first(5), ['k10/2']]);
    expect(await node.delays.find('test.batch', 'k11')).toMatchObject({
      state: 'scheduled',
      attempts: 0,
    });
    expect(await node.delays.find('test.batch', 'k12')).toMatchObject({ state: 'dead' });
    expect(refused.every((error) => error instanceof DelayInvalidError)).toBe(true);
    const fields = refused.map((error) => (error as DelayInvalidError).field);
    expect(fields).toEqual(['delay', 'delay', 'after', 'delay']);
  });

  it('moves its own keys on, all of them in one call of scheduleMany', async () => {
    const rounds = new Map<string, number>();
    const handler = KINDS[kind](
      'test.batch',
      async (delays, ctx) => {
        const again = keysOf(delays).filter((key) => !rounds.has(key));
        for (const { key } of delays) rounds.set(key!, (rounds.get(key!) ?? 0) + 1);
        const results = await node.delays.scheduleMany(batchOf(again, 5), {
          manager: 'manager' in ctx ? (ctx.manager as never) : undefined,
        });
        expect(results.every(({ verdict }) => verdict === 'scheduled')).toBe(true);
      },
      { batch: 10 },
    );
    const node = await stage.start({ providers: [handler] });
    const made = await node.delays.scheduleMany(batchOf(keys(8)));
    await until(
      () => [...rounds.values()],
      (done) => done.length === 8 && done.every((round) => round === 2),
    );
    await untilLeft(stage, 0);
    // It was the same row all the time.
    const ends = await stage.sql(`SELECT DISTINCT id FROM delay_queue.history ORDER BY id`);
    expect(ends.map(({ id }) => String(id))).toEqual(made.map(({ id }) => id));
  });
});
