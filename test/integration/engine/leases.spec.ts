import { describe, expect, it } from '@jest/globals';
import { DelayLeaseLostError, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { ActingNode } from '../../support/acting-node.js';
import { signal } from '../../support/delay-node.js';
import { type Attempt, AttemptStore } from '../../support/engine-parts.js';

/** Its timeouts are far away: only a lost lease ends an attempt. */
const acting = new ActingNode({ options: { lease: '1s', timeout: '20s' } });

/** As another node's claim would, once it believed the lease to be over; or this very node's, after a pause. */
const takeOver = (): Promise<unknown[]> =>
  acting.sql(
    `UPDATE delay_queue.delay
     SET epoch = epoch + 1, attempts = attempts + 1,
         leased_until = clock_timestamp() + interval '1 hour' RETURNING *`,
  );

const rows = (): Promise<unknown[]> => acting.sql('SELECT * FROM delay_queue.delay');

it('a plain handler is told when its lease is lost', async () => {
  const { end, answer } = await acting.fire('plain', async (ctx) => {
    const aborted = signal<unknown>();
    ctx.signal.addEventListener('abort', () => aborted.resolve(ctx.signal.reason));
    await takeOver();
    return aborted.promise;
  });
  expect(end.event).toBe('lost');
  expect(answer).toBeInstanceOf(DelayLeaseLostError);
});

it.each([
  ['completes', undefined],
  ['fails', new Error('no')],
  ['postpones', new PostponeDelay('1h')],
  ['discards', new DiscardDelay('no')],
])(
  'a row that was taken over while a plain handler ran stays as it is when that %s: the epoch fences every write',
  async (_, thrown) => {
    let taken: unknown[] = [];
    const { end } = await acting.fire('plain', async () => {
      taken = await takeOver();
      if (thrown !== undefined) throw thrown;
    });
    expect(end.event).toBe('lost');
    expect(await rows()).toEqual(taken);
  },
);

describe('a transactional attempt', () => {
  const brief = new ActingNode({ options: { lease: '1s', timeout: '1s' } });

  it('is never renewed', async () => {
    const renewed: number[] = [];
    brief.parts.intercept(AttemptStore, 'renew', ({ real, given: [items] }) => {
      // One that is over and not written down yet keeps its row: that is another matter.
      const held = (items as readonly Attempt[]).filter(({ over }) => !over);
      renewed.push(...held.map(({ id }) => id));
      return real();
    });
    const { end } = await brief.fire('transactional', () => new Promise(() => {}), {
      maxAttempts: 1,
    });
    expect(end).toMatchObject({ event: 'dead', error: expect.stringContaining('Timeout') });
    expect(renewed).toEqual([]);
  });
});
