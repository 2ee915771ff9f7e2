import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayInvalidError, DiscardDelay } from 'nestjs-delay-queue';
import { keys, startWith, untilLeft } from './support/batch-stage.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

describe.each(['plain', 'transactional'] as const)('a %s batch handler', (kind) => {
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
