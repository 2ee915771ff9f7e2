import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import type { Attempt, Outcome } from '../../../src/delay-queue/worker/attempt.js';
import { toldPauses } from '../../support/told-pauses.js';

const pauses = toldPauses();
const { Completer } = await import('../../../src/delay-queue/worker/completer.js');

const FAILED: Outcome = { kind: 'failed', error: new Error('Connection terminated') };
const claimOf = (id: number, committingIn?: string) =>
  ({
    id,
    epoch: 1,
    committingIn,
    row: { extras: null, attempts: 1, max_attempts: 2 },
    extras: { group: null, headers: {}, repeat: null },
    handler: { transactional: true, limits: null, backoffMs: () => 0 },
    onDead: null,
    over: true,
  }) as unknown as Attempt;

const ignored = (): void => {};

let asked: unknown[];
/** What Postgres says, one answer after the other. */
let answers: (string | null | Error)[];
let completer: InstanceType<typeof Completer>;
let events: string[];
let told: [id: number, kind: string][];

beforeEach(() => {
  [asked, answers, told] = [[], [], []];
  [events, pauses.retries.length, pauses.locked.length] = [[], 0, 0];
  const all = new DelayEvents();
  all.on('taskFailed', ({ task }) => events.push(task));
  all.on('taskRecovered', ({ task }) => events.push(`${task} again`));
  all.on('completed', ({ id }) => told.push([Number(id), 'completed']));
  const query = async (_sql: string, parameters: unknown[]): Promise<never[]> => {
    asked.push(...parameters);
    const answer = answers.length > 0 ? answers.shift() : 'in progress';
    if (answer instanceof Error) throw answer;
    return [{ status: answer }] as never[];
  };
  const store = {
    retry: async (items: { id: number }[]) => {
      for (const { id } of items) told.push([id, 'failed']);
      return items.map(({ id }) => ({ id, wake_ms: null }));
    },
  };
  completer = new Completer(store as never, { query }, all, 1_000, {
    wrote: ignored,
    waits: ignored,
    freed: ignored,
    passed: ignored,
    exhausted: async () => 'gone',
  });
});

describe('COMMITs without an answer', () => {
  it.each<[string | null, string]>([
    ['committed', 'completed'],
    ['aborted', 'failed'],
    [null, 'failed'],
  ])(
    'ask until Postgres says %p, once for a batch, and keep the leases meanwhile',
    async (end, kind) => {
      answers = ['in progress', new Error('Connection terminated'), end];
      for (const id of [1, 2]) completer.report(claimOf(id, '7'), FAILED);
      expect([told, completer.size, completer.unwritten.size]).toEqual([[], 2, 2]);
      await completer.drain(10_000);
      expect(told).toEqual([
        [1, kind],
        [2, kind],
      ]);
      expect([asked, completer.size, completer.unwritten.size]).toEqual([['7', '7', '7'], 0, 0]);
    },
  );

  it('ask after pauses that grow, of two kinds, and tell of failures', async () => {
    const down = new Error('Connection terminated');
    answers = ['in progress', down, 'in progress', down, 'committed'];
    completer.report(claimOf(1, '7'), FAILED);
    await completer.drain(10_000);
    expect([pauses.locked, pauses.retries]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(events).toEqual(['complete', 'complete again', 'complete', 'complete again']);
  });

  it('take a number that no transaction had yet for one that was not committed', async () => {
    answers = [Object.assign(new Error('in the future'), { code: '22023' })];
    completer.report(claimOf(1, '7'), FAILED);
    await completer.drain(10_000);
    expect([told, asked]).toEqual([[[1, 'failed']], ['7']]);
  });

  it('ask nothing of those that never sent COMMIT, or heard of it', async () => {
    completer.report(claimOf(1), FAILED);
    completer.report(claimOf(2, '7'), { kind: 'completed' });
    await completer.drain(10_000);
    expect([told, asked]).toEqual([
      [
        [2, 'completed'],
        [1, 'failed'],
      ],
      [],
    ]);
  });

  it('tell nothing when the node ends before', async () => {
    completer.report(claimOf(1, '7'), FAILED);
    completer.close();
    await completer.drain(10_000);
    expect([told, completer.size]).toEqual([[], 0]);
  });
});
