import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayLeaseLostError, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import type { Attempt } from '../../../src/delay-queue/execution/call/attempt.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

/** A plain handler that holds on until the test lets it go. */
function held(name: `test.${string}`) {
  const began = signal<AbortSignal>();
  const end = signal();
  const runs: string[] = [];
  const provider = plainHandler(
    name,
    async (delay, ctx) => {
      runs.push(delay.id);
      began.resolve(ctx.signal);
      await end.promise;
    },
    { timeout: '60s' },
  );
  return { began: began.promise, end: end.resolve, runs, provider };
}

const leaseOf = (key: string) =>
  stage.sql<{ epoch: number; ends: number }>(
    `SELECT epoch::int, extract(epoch FROM leased_until)::float8 * 1000 AS ends
     FROM delay_queue.delay WHERE key = $1`,
    [key],
  );

describe('a plain handler that runs longer than its lease', () => {
  it('has its lease renewed, so no other node takes the row', async () => {
    const one = held('test.held');
    const other = held('test.held');
    const options = { lease: '2s', loadEvery: '200ms' } as const;
    const node = await stage.start({ options, providers: [one.provider] });
    await node.delays.schedule('test.held', null, { after: 0, key: 'k' });
    await one.began;
    const [first] = await leaseOf('k');
    await stage.start({ options, providers: [other.provider] });
    // Renewed far beyond the lease that the claim took, and the other one looked many times.
    await until(
      () => leaseOf('k'),
      ([row]) => row!.ends > first!.ends + 2_500,
    );
    const completed = node.next('completed');
    one.end();
    await completed;
    expect([one.runs.length, other.runs.length]).toEqual([1, 0]);
    const history = await stage.sql('SELECT attempts, epoch::int FROM delay_queue.history');
    expect(history).toEqual([{ attempts: 1, epoch: 1 }]);
  });

  it('is told when its lease is lost, and its result changes nothing', async () => {
    const { began, end, provider } = held('test.held');
    const node = await stage.start({ options: { lease: '1s' }, providers: [provider] });
    await node.delays.schedule('test.held', null, { after: 0, key: 'k' });
    const aborted = signal<unknown>();
    const handlerSignal = await began;
    handlerSignal.addEventListener('abort', () => aborted.resolve(handlerSignal.reason));
    const lost = node.next('lost');
    // As another node's claim would, once it believed the lease to be over.
    await stage.sql(
      `UPDATE delay_queue.delay SET epoch = epoch + 1, attempts = attempts + 1,
              leased_by = 'other', leased_until = clock_timestamp() + interval '1 hour'`,
    );
    expect(await aborted.promise).toBeInstanceOf(DelayLeaseLostError);
    await lost;
    const before = await stage.sql('SELECT * FROM delay_queue.delay');
    end();
    // A later completion of this node goes through the same acknowledger.
    const completed = node.next('completed');
    await node.delays.schedule('test.held', null, { after: 0, key: 'next' });
    await completed;
    expect(await stage.sql(`SELECT * FROM delay_queue.delay WHERE key = 'k'`)).toEqual(before);
    expect(before).toMatchObject([{ leased_by: 'other', epoch: '2', attempts: 2 }]);
  });
});

describe('a row that was taken over while a plain handler ran', () => {
  it.each([
    ['completes', () => {}],
    [
      'fails',
      () => {
        throw new Error('no');
      },
    ],
    [
      'postpones',
      () => {
        throw new PostponeDelay('1h');
      },
    ],
    [
      'discards',
      () => {
        throw new DiscardDelay('no');
      },
    ],
  ])('stays as it is when that handler %s: the epoch fences every write', async (_, end) => {
    let before: unknown;
    const node = await stage.start({
      providers: [
        plainHandler('test.held', async () => {
          // Even if this very node took it, for instance after a pause.
          before = await stage.sql(
            `UPDATE delay_queue.delay SET epoch = epoch + 1, attempts = attempts + 1,
                    leased_until = clock_timestamp() + interval '1 hour' RETURNING *`,
          );
          end();
        }),
      ],
    });
    const lost = node.next('lost');
    await node.delays.schedule('test.held', null, { after: 0, key: 'k' });
    await lost;
    expect(await stage.sql('SELECT * FROM delay_queue.delay')).toEqual(before);
  });
});

describe('a transactional attempt', () => {
  it('is never renewed', async () => {
    const renewed = new Set<number>();
    const original: AttemptStore['renew'] = Reflect.get(AttemptStore.prototype, 'renew');
    const renew = jest.spyOn(AttemptStore.prototype, 'renew').mockImplementation(function (
      this: AttemptStore,
      items,
      leaseMs,
    ) {
      // One that is over and not written down yet keeps its row: that is another matter.
      for (const { id, over } of items as readonly Attempt[]) if (!over) renewed.add(id);
      return original.call(this, items, leaseMs);
    });
    const plain = held('test.held');
    const fencedBegan = signal<string>();
    const node = await stage.start({
      options: { lease: '1s' },
      providers: [
        plain.provider,
        fencedHandler(
          'test.fenced',
          async (delay) => {
            fencedBegan.resolve(delay.id);
            await new Promise(() => {});
          },
          { timeout: '1s', maxAttempts: 1 },
        ),
      ],
    });
    const dead = node.next('dead');
    await node.delays.schedule('test.held', null, { after: 0, key: 'plain' });
    await node.delays.schedule('test.fenced', null, { after: 0, key: 'fenced' });
    const fencedId = await fencedBegan.promise;
    await dead;
    await until(
      () => renew.mock.calls.length,
      (calls) => calls > 1,
    );
    expect([...renewed].map(String)).toEqual(plain.runs);
    expect(renewed.has(Number(fencedId))).toBe(false);
    plain.end();
  });
});
