import { beforeEach, describe, expect, it } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { describeError } from '../../../src/delay-queue/api/error-text.js';
import {
  DeadLetterReports,
  type OnDeadCallHandler,
  type HandlerWithOnDead,
  NO_ATTEMPT_LEFT,
} from '../../../src/delay-queue/worker/dead-letters.js';
import { DelayCodecError } from '../../../src/delay-queue/api/errors.js';
import type { PayloadReader } from '../../../src/delay-queue/config/payloads.js';
import type { ExhaustedClaim, HeldClaim, Outcome } from '../../../src/delay-queue/worker/claims.js';
import type { OnDeadRow } from '../../../src/delay-queue/store/rows/attempt-rows.js';

const error = new Error('no');
const OWNER = { name: 'a', key: null };

let told: string[];
let freed: number[];
let waits: unknown[];
let putOff: { waitMs: number; error: string }[];
let isGone: boolean;
let retried: unknown[];
let reports: DeadLetterReports;

beforeEach(() => {
  [told, freed, waits, putOff, isGone, retried] = [[], [], [], [], false, []];
  const events = new DelayEvents();
  for (const name of ['dead', 'superseded', 'lost', 'released', 'aborted'] as const)
    events.on(name, ({ id }: { id: string }) => told.push(`${name} ${id}`));
  events.on('postponed', ({ waitMs }) => told.push(`postponed ${waitMs}`));
  events.on('retrying', (of) => told.push(`retrying ${of.waitMs} ${of.error}`));
  const completer = {
    commits: {
      known: (of: HeldClaim, outcome: Outcome, tell: (of: HeldClaim, outcome: Outcome) => void) =>
        tell(of, outcome),
    },
    free: ({ id }: HeldClaim) => freed.push(id),
    to: { waits: (wake: unknown) => waits.push(wake) },
    putOff: (_: HeldClaim, how: (typeof putOff)[number], tell: (result: string) => void) => {
      putOff.push(how);
      tell(isGone ? 'gone' : 'written');
    },
  };
  const retry = async (items: { id: number }[], runner: unknown) => {
    retried.push(...items, runner);
    return items.filter(({ id }) => id !== 9);
  };
  reports = new DeadLetterReports({ retry } as never, completer as never, events);
});

const invoked: unknown[] = [];
const handler = (readPayload?: PayloadReader): HandlerWithOnDead =>
  ({
    name: 'a',
    transactional: false,
    batch: 5,
    onDead: {
      location: 'A.b',
      readPayload,
      invoke: (...given: unknown[]) => invoked.push(given),
    },
  }) as unknown as HandlerWithOnDead;

const diedOf = (
  text: string,
  lastError: string | null,
  read?: PayloadReader,
): OnDeadCallHandler => {
  const held =
    text === '' ? undefined : ({ error: text, cause: error } as unknown as ExhaustedClaim);
  return reports.handlerOf({ last_error: lastError } as OnDeadRow, handler(read), held);
};

const claimOf = (odd: object = {}): HeldClaim =>
  ({
    id: 1,
    epoch: 4,
    handler: diedOf('Error: no', null),
    row: { name: 'a', key: null, attempts: 3, max_attempts: 3 },
    event: { id: '1' },
    latenessMs: 80_000,
    calledAtMs: performance.now(),
    movedOn: false,
    ...odd,
  }) as unknown as HeldClaim;

const fails: PayloadReader = () => Promise.reject(new DelayCodecError('no key'));

describe('the method of a dying delay', () => {
  it.each([
    ['Error: just now', 'Error: before', 'Error: just now', error],
    ['', 'Error: before', 'Error: before', undefined],
    ['', null, NO_ATTEMPT_LEFT, undefined],
  ])('is called, alone and in a transaction, with why: %j, %j', (text, last, why, cause) => {
    invoked.length = 0;
    const dead = diedOf(text, last);
    expect([dead.transactional, dead.batch, dead.lastFailure.error]).toEqual([true, null, why]);
    dead.invoke('delay' as never, { manager: 1, signal: 2, other: 3 } as never);
    expect(invoked).toEqual([['delay', { manager: 1, signal: 2, error: why, cause }]]);
  });

  it('gets its payload as any handler, and none where that is what it died of', async () => {
    const text = '{"delay-queue:encoded": "x"}';
    const undecodable = describeError(new DelayCodecError('no key'));
    expect(diedOf('Error: no', null).readPayload).toBeUndefined();
    expect(diedOf('Error: no', null, fails).readPayload).toBe(fails);
    expect(await diedOf(undecodable, null, fails).readPayload?.(text, OWNER)).toBeUndefined();
    expect(await diedOf('', undecodable).readPayload?.(text, OWNER)).toBeUndefined();
    expect(await diedOf(undecodable, null).readPayload?.('[1]', OWNER)).toEqual([1]);
    const odd: PayloadReader = () => Promise.reject(error);
    await expect(diedOf(undecodable, null, odd).readPayload?.(text, OWNER)).rejects.toBe(error);
  });

  it('ends with the dead letter, as the last statement of its transaction', async () => {
    const runner = {} as never;
    expect(await reports.deadLetter([claimOf(), claimOf({ id: 9 })] as never, runner)).toEqual([1]);
    const dead = { epoch: 4, waitMs: null, refund: 0, error: 'Error: no', ends: 'failed' };
    expect(retried).toMatchObject([{ id: 1, ...dead }, { id: 9, ...dead }, {}]);
    expect(retried[2]).toBe(runner);
  });
});

describe('a call of the method that ends', () => {
  it.each([
    [{}, 'dead 1', []],
    [{ movedOn: true }, 'superseded 1', []],
    [{ goesOn: 'wake' }, 'dead 1', ['wake']],
  ])('well is told of, and of where the delay goes on: %j', (odd, event, goesOn) => {
    reports.report(claimOf(odd), { kind: 'completed' });
    expect([told, freed, waits, putOff]).toEqual([[event], [1], goesOn, []]);
  });

  it.each<[Outcome, number, string[]]>([
    [{ kind: 'failed', error }, 10_000, ['retrying 10000 @OnDeadDelay of A.b: Error: no']],
    [{ kind: 'discarded', reason: 'x' }, 10_000, ['retrying 10000 @OnDeadDelay of A.b: x']],
    [{ kind: 'postponed', waitMs: 5 }, 5, ['postponed 5']],
    [{ kind: 'unbegun', error, waitMs: 7 }, 7, []],
    [{ kind: 'released' }, 0, ['released 1']],
    [{ kind: 'aborted' }, 10_000, ['aborted 1']],
  ])('otherwise, as %j, is put off, and what its row keeps is why it dies', (of, waitMs, says) => {
    reports.report(claimOf(), of);
    expect([putOff, told, freed]).toEqual([[{ waitMs, error: 'Error: no' }], says, []]);
  });

  it.each([
    [0, 1_000],
    [8_000, 1_000],
    [9_600, 1_200],
    [10_000_000, 300_000],
  ])('badly waits the longer the later it is: %d ms late, %d ms', (latenessMs, waitMs) => {
    reports.report(claimOf({ latenessMs }), { kind: 'failed', error });
    expect(putOff).toMatchObject([{ waitMs }]);
  });

  it('and has lost its row is told as lost, and writes nothing when it knows', () => {
    reports.report(claimOf(), { kind: 'lost' });
    expect([told, putOff]).toEqual([['lost 1'], []]);
    isGone = true;
    reports.report(claimOf(), { kind: 'failed', error });
    expect(told).toEqual(['lost 1', 'lost 1']);
  });
});
