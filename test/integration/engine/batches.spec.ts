import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
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
