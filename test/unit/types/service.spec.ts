import { describe, expect, it } from '@jest/globals';
import type {
  CancelOptions,
  CancelResult,
  CatchUp,
  DelayAttempt,
  AttemptOutcome,
  DelayHeaders,
  DelayInfo,
  DelayRecord,
  DelayRepeat,
  DelayService,
  Due,
  Duration,
  DurationText,
  DurationUnit,
  EndState,
  InTransaction,
  LiveState,
  OnConflict,
  Recurring,
  RepeatInterval,
  RepeatOptions,
  RescheduleResult,
  RescheduleTo,
  RetryDeadResult,
  ScheduleItem,
  ScheduleOptions,
  ScheduleResult,
  When,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

/** `tsc` is the judge here, as in `handlers.spec.ts`: nothing of this is called. */
async function calls(delays: DelayService, manager: EntityManager) {
  const scheduled: ScheduleResult = await delays.schedule('test.a', { n: 1 }, { after: '30m' });
  const options = { key: 'k', headers: { trace: 'a' }, group: 'g', manager } as const;
  await delays.schedule('test.a', { n: 1 }, { at: new Date(), onConflict: 'keep', ...options });
  await delays.schedule('test.a', { n: 1 }, { repeat: { every: '1h' }, key: 'k' });
  const items: ScheduleItem[] = [{ name: 'test.a', payload: { n: 1 }, after: 1 }];
  const many: ScheduleResult[] = await delays.scheduleMany(items, { manager: 'own' });
  const abort = { running: 'abort', abortWithin: '10s' } as const;
  const cancelled: CancelResult = await delays.cancel('test.a', 'k', { ...abort, manager });
  const all: CancelResult[] = await delays.cancelMany([{ name: 'test.a', key: 'k' }, { id: '1' }]);
  const moved: RescheduleResult = await delays.reschedule('test.a', 'k', { extendBy: '1h' });
  const move: RescheduleTo = { at: new Date() };
  const movedAll: RescheduleResult[] = await delays.rescheduleMany([{ id: '1' }], move, {});
  const retried: RetryDeadResult = await delays.retryDead('test.a', 'k');
  const found: DelayInfo<'test.a'> | null = await delays.find('test.a', 'k', { manager });
  const ended: DelayRecord[] = await delays.history('test.a', 'k');
  const [first] = many;
  return [
    scheduled.dueAt.getTime(),
    first?.id.length,
    cancelled,
    all,
    moved,
    movedAll,
    retried,
    found,
    ended,
  ];
}

async function wrongCalls(delays: DelayService, manager: EntityManager) {
  // @ts-expect-error -- no due time
  await delays.schedule('test.a', { n: 1 }, {});
  // @ts-expect-error -- two of them
  await delays.schedule('test.a', { n: 1 }, { after: 1, at: new Date() });
  // @ts-expect-error -- the payload of another name
  await delays.schedule('test.a', { text: '' }, { after: 1 });
  // @ts-expect-error -- a name that is not declared
  await delays.schedule('tset.a', { n: 1 }, { after: 1 });
  // @ts-expect-error -- a misspelt option
  await delays.schedule('test.a', { n: 1 }, { after: 1, maxAttemps: 1 });
  // @ts-expect-error -- a key is a text
  await delays.schedule('test.a', { n: 1 }, { after: 1, key: 42 });
  // @ts-expect-error -- an item has its due time itself
  await delays.scheduleMany([{ name: 'test.a', payload: { n: 1 } }], { after: 1 });
  // @ts-expect-error -- no key
  await delays.cancel('test.a');
  // @ts-expect-error -- what else could become of it?
  await delays.cancel('test.a', 'k', { running: 'kill' });
  // @ts-expect-error -- a name and a key, or an id
  await delays.cancelMany([{ name: 'test.a' }]);
  // @ts-expect-error -- either of them
  await delays.cancelMany([{ name: 'test.a', key: 'k', id: '1' }]);
  // @ts-expect-error -- when?
  await delays.reschedule('test.a', 'k', {});
  // @ts-expect-error -- one of them
  await delays.reschedule('test.a', 'k', { after: 1, extendBy: 1 });
  // @ts-expect-error -- a list
  await delays.rescheduleMany({ id: '1' }, { after: 1 });
  // @ts-expect-error -- a manager beside the options
  await delays.retryDead('test.a', 'k', manager);
  // @ts-expect-error -- of which name?
  await delays.find('k');
  // @ts-expect-error -- it may be absent
  void (await delays.find('test.a', 'k')).id;
  // @ts-expect-error -- a page has no size
  await delays.history('test.a', 'k', { limit: 5 });
  // @ts-expect-error -- an absent one has no due time
  void (await delays.cancel('test.a', 'k')).dueAt;
}

describe('types of DelayService', () => {
  it('couple names, payloads, times and verdicts', () => {
    expect([calls, wrongCalls]).toHaveLength(2);
  });

  it('say which verdicts there are', () => {
    expect([
      same<ScheduleResult['verdict'], 'scheduled' | 'replaced' | 'kept' | 'running'>(true),
      same<CancelResult['verdict'], 'cancelled' | 'running' | 'absent'>(true),
      same<RescheduleResult['verdict'], 'rescheduled' | 'running' | 'absent'>(true),
      same<RetryDeadResult['verdict'], 'retried' | 'absent'>(true),
      same<DelayInfo['state'], LiveState>(true),
      same<DelayRecord['state'], EndState>(true),
      same<DelayAttempt['outcome'], AttemptOutcome>(true),
    ]).not.toContain(false);
    // @ts-expect-error -- a verdict of another write
    const schedule: ScheduleResult['verdict'] = 'cancelled';
    // @ts-expect-error -- one that is absent has no id
    const cancel: CancelResult = { verdict: 'absent', id: '1' };
    // @ts-expect-error -- a verdict of another write
    const reschedule: RescheduleResult['verdict'] = 'replaced';
    // @ts-expect-error -- a dead letter does not run
    const retry: RetryDeadResult['verdict'] = 'running';
    // @ts-expect-error -- what ended is no state of what lives
    const live: LiveState = 'completed';
    // @ts-expect-error -- nor the other way
    const end: EndState = 'dead';
    // @ts-expect-error -- a state, not an outcome
    const outcome: AttemptOutcome = 'dead';
    expect([schedule, cancel, reschedule, retry, live, end, outcome]).toHaveLength(7);
  });

  it('say what is found', () => {
    const asked = ({ repeat, attemptLog }: DelayInfo, record: DelayRecord, log: DelayAttempt) => {
      // @ts-expect-error -- once is no way to recur
      const catchUp: CatchUp = repeat.catchUp;
      // @ts-expect-error -- what waits has not ended
      const endedAt: Date = attemptLog[0].endedAt;
      // @ts-expect-error -- in history there is no payload
      const payload: unknown = record.payload;
      // @ts-expect-error -- it may run still
      const attemptEnd: Date = log.endedAt;
      return [catchUp, endedAt, payload, attemptEnd];
    };
    expect(asked).toBeDefined();
  });

  it('say what a write may be given', () => {
    const given: [CancelOptions, InTransaction, ScheduleOptions, DelayHeaders, RescheduleTo] = [
      { running: 'leave', manager: 'own' },
      {},
      { maxWait: '1h', maxAttempts: 3, onConflict: 'earlier' },
      { trace: 'a' },
      { after: '1h' },
    ];
    const conflict: OnConflict[] = ['replace', 'keep', 'error', 'earlier', 'later'];
    // @ts-expect-error -- a number of milliseconds, or a text
    const cancel: CancelOptions = { abortWithin: new Date() };
    // @ts-expect-error -- an EntityManager, or 'own'
    const transaction: InTransaction = { manager: 'mine' };
    // @ts-expect-error -- no text
    const schedule: ScheduleOptions = { group: 7 };
    // @ts-expect-error -- texts
    const headers: DelayHeaders = { trace: 7 };
    // @ts-expect-error -- one of them
    const to: RescheduleTo = { at: new Date(), extendBy: '1h' };
    // @ts-expect-error -- nobody knows what that would be
    const ignore: OnConflict = 'ignore';
    expect([
      ...given,
      ...conflict,
      cancel,
      transaction,
      schedule,
      headers,
      to,
      ignore,
    ]).toHaveLength(16);
  });
});

describe('types of items and times', () => {
  it('an item of scheduleMany couples name, payload and one due time', () => {
    const items: ScheduleItem[] = [
      { name: 'test.a', payload: { n: 1 }, after: '30m', key: '1' },
      { name: 'test.b', payload: { text: '' }, at: new Date() },
      // @ts-expect-error -- two due times
      { name: 'test.b', payload: { text: '' }, at: new Date(), after: 5 },
    ];
    const foreign: ScheduleItem<'test.a'> = {
      name: 'test.a',
      // @ts-expect-error -- the payload of another name
      payload: { text: '' },
      after: 1,
    };
    expect([...items, foreign]).toHaveLength(4);
  });

  it('a duration is a number or any text, which is read when it is used', () => {
    const configured: string = process.env['NOBODY_SETS_THIS'] ?? '30m';
    const right: Duration[] = [250, '90s', '30 minutes', '14d', configured];
    // @ts-expect-error -- neither a number nor a text
    const wrong: Duration = new Date();
    const known: [DurationText, When] = ['30 minutes', { after: '30m' }];
    // @ts-expect-error -- no such unit
    const unit: DurationText = '30x';
    // @ts-expect-error -- a text says its unit
    const bare: DurationText = '60';
    // @ts-expect-error -- no due time at all
    const when: When = {};
    expect([...right, ...known, wrong, unit, bare, when]).toHaveLength(11);
  });

  it('what recurs has a key, and one interval', () => {
    const right: Due[] = [
      { repeat: { every: '1h' }, key: 'k' },
      { repeat: { cron: '0 3 * * *', timeZone: 'UTC', catchUp: 'each' }, key: 'k', after: '1m' },
      { repeat: { every: 1, catchUp: 'each' } as DelayRepeat, key: 'k', at: new Date(0) },
    ];
    // @ts-expect-error -- no key
    const keyless: Due = { repeat: { every: '1h' } };
    // @ts-expect-error -- no key, beside a first time
    const keylessToo: Due = { repeat: { every: '1h' }, after: 0 };
    // @ts-expect-error -- no interval
    const never: Due = { repeat: {}, key: 'k' };
    // @ts-expect-error -- two of them
    const twice: Due = { repeat: { every: '1h', cron: '* * * * *' }, key: 'k' };
    // @ts-expect-error -- a zone without a wall clock
    const zone: Due = { repeat: { every: '1h', timeZone: 'UTC' }, key: 'k' };
    // @ts-expect-error -- of many due times none is the earlier one
    const earlier: Due = { repeat: { every: '1h' }, key: 'k', onConflict: 'earlier' };
    const items: ScheduleItem<'test.a'>[] = [
      { name: 'test.a', payload: { n: 1 }, key: 'k', repeat: { every: '1h' } },
      { name: 'test.a', payload: { n: 1 }, key: 'k', repeat: { every: '1h' }, after: '1m' },
      // @ts-expect-error -- no key
      { name: 'test.a', payload: { n: 1 }, repeat: { every: '1h' } },
    ];
    const all = [...right, keyless, keylessToo, never, twice, zone, earlier, ...items];
    expect(all).toHaveLength(12);
  });

  it('each part has a name', () => {
    const parts: [Recurring, RepeatInterval, RepeatOptions, CatchUp, DurationUnit] = [
      { repeat: { every: 1 }, key: 'k', onConflict: 'keep' },
      { every: '1h' },
      { cron: '* * * * *', catchUp: 'none' },
      'latest',
      'days',
    ];
    // @ts-expect-error -- no key
    const recurring: Recurring = { repeat: { every: 1 } };
    // @ts-expect-error -- no interval
    const interval: RepeatInterval = { timeZone: 'UTC' };
    // @ts-expect-error -- no such choice
    const options: RepeatOptions = { every: 1, catchUp: 'some' };
    // @ts-expect-error -- no such choice
    const catchUp: CatchUp = 'all';
    // @ts-expect-error -- of what length?
    const unit: DurationUnit = 'years';
    // @ts-expect-error -- in milliseconds
    const repeat: DelayRepeat = { every: '1h', catchUp: 'each' };
    expect([...parts, recurring, interval, options, catchUp, unit, repeat]).toHaveLength(11);
  });
});
