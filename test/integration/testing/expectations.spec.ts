import { AssertionError } from 'node:assert';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DelayNode, plainHandler, type Signal, signal } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { startTested } from './support/tested.js';
import type { DelayTesting } from 'nestjs-delay-queue/testing';

let stage: Stage;
let node: DelayNode & { testing: DelayTesting };
let holdOn: Signal<void> | undefined;

beforeEach(async () => {
  stage = await Stage.open();
  const fails = plainHandler(
    'test.a',
    async () => {
      await holdOn?.promise;
      throw new Error('no');
    },
    { maxAttempts: 2, backoff: { base: '1h', max: '1h', jitter: 0 } },
  );
  node = await startTested(stage, { providers: [fails] });
});
afterEach(async () => {
  holdOn = undefined;
  await stage.close();
});

const thrownBy = (call: Promise<void>): Promise<unknown> =>
  call.then(
    () => undefined,
    (e) => e,
  );

describe('expectScheduled', () => {
  it('is content with what waits, when and with what it should', async () => {
    const { delays, testing } = node;
    await delays.schedule('test.a', { n: 1 }, { after: '30m', key: '1' });
    for (const expected of [
      {},
      { dueIn: '30m', payload: { n: 1 } },
      { dueIn: '29m', within: '2m' },
    ] as const) {
      expect(await thrownBy(testing.expectScheduled('test.a', '1', expected))).toBeUndefined();
    }
    await testing.advance('30m');
    const retried = testing.expectScheduled('test.a', '1', { dueIn: '1h' });
    expect(await thrownBy(retried)).toBeUndefined();
  });

  it('says what is there instead', async () => {
    const { delays, testing } = node;
    expect(await thrownBy(testing.expectScheduled('test.a', '1'))).toMatchObject({
      message: 'test.a of "1" is not scheduled. There is no delay of that name',
      actual: null,
      expected: {},
      operator: 'expectScheduled',
      code: 'ERR_ASSERTION',
    });
    await delays.schedule('test.a', { n: 1 }, { after: '30m', key: '1' });
    const error = await thrownBy(testing.expectScheduled('test.a', '2', { dueIn: '30m' }));
    expect(error).toBeInstanceOf(AssertionError);
    expect(error).toHaveProperty(
      'message',
      expect.stringMatching(
        /^test\.a of "2" is not scheduled\. There are "1" scheduled, due in (30m|29m 5\ds)$/,
      ),
    );
    expect((error as Error).stack).toContain('expectations.spec');
    await expect(testing.expectScheduled('test.a', '1', { dueIn: '29m' })).rejects.toThrow(
      /is scheduled, but it is due in (30m|29m 5\ds), not in 29m \(within 10s\)/,
    );
    await expect(testing.expectScheduled('test.a', '1', { payload: { n: 2 } })).rejects.toThrow(
      'test.a of "1" is scheduled, but its payload is {"n":1}, not {"n":2}',
    );
  });

  it('takes neither a dead letter nor an attempt that runs for scheduled', async () => {
    const { delays, testing } = node;
    await delays.schedule('test.a', { n: 1 }, { after: '30m', key: '1' });
    await testing.advance('1d');
    await expect(testing.expectScheduled('test.a', '1')).rejects.toThrow(
      'test.a of "1" is not scheduled. It is dead. There are "1" dead (Error: no)',
    );
    await testing.expectNotScheduled('test.a', '1');
    holdOn = signal();
    await delays.schedule('test.a', { n: 1 }, { after: '1h', key: '2' });
    const started = node.next('started');
    const running = testing.advance('1h');
    await started;
    await expect(testing.expectScheduled('test.a', '2')).rejects.toThrow('It is running.');
    await expect(testing.expectNotScheduled('test.a', '2')).rejects.toThrow('"2" running');
    holdOn.resolve();
    await running;
  });
});

describe('expectNotScheduled', () => {
  it('says when it is due', async () => {
    const { delays, testing } = node;
    await testing.expectNotScheduled('test.a', '1');
    await delays.schedule('test.a', { n: 1 }, { after: '26h', key: '1' });
    const error = await thrownBy(testing.expectNotScheduled('test.a', '1'));
    expect(error).toBeInstanceOf(AssertionError);
    expect((error as Error).message).toMatch(
      /^test\.a of "1" is there: "1" scheduled, due in 1d (2h|1h 59m 5\ds)$/,
    );
    await delays.cancel('test.a', '1');
    await testing.expectNotScheduled('test.a', '1');
  });
});
