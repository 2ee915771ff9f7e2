import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DiscardDelay } from 'nestjs-delay-queue';
import { keys, keysOf, startWith, untilLeft } from './support/batch-stage.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

describe.each(['plain', 'transactional'] as const)('a %s batch handler', (kind) => {
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
});
