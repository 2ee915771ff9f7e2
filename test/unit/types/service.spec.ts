import { expect, it } from '@jest/globals';
import type {
  AttemptOutcome,
  CancelOptions,
  CancelResult,
  CatchUp,
  DelayAttempt,
  DelayMove,
  MoveCall,
  DelayTransaction,
  DelayHeaders,
  DelayInfo,
  DelayRecord,
  DelayRepeat,
  DelayService,
  Due,
  Duration,
  EndState,
  InTransaction,
  LiveState,
  OnConflict,
  Recurring,
  RepeatEnd,
  RepeatInterval,
  RepeatOptions,
  RepeatRule,
  RescheduleResult,
  RescheduleTo,
  RetryDeadResult,
  ScheduleItem,
  ScheduleOptions,
  ScheduleResult,
  When,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { fits, same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

async function calls(delays: DelayService, manager: EntityManager) {
  const options = { key: 'k', headers: { trace: 'a' }, group: 'g', manager } as const;
  fits<ScheduleResult>(await delays.schedule('test.a', { n: 1 }, { after: '30m' }));
  await delays.schedule('test.a', { n: 1 }, { at: new Date(), onConflict: 'keep', ...options });
  await delays.schedule('test.a', { n: 1 }, { repeat: { every: '1h' }, key: 'k' });
  const items: ScheduleItem[] = [{ name: 'test.a', payload: { n: 1 }, after: 1 }];
  fits<ScheduleResult[]>(await delays.scheduleMany(items, { manager: 'own' }));
  const abort = { running: 'abort', abortWithin: '10s' } as const;
  fits<CancelResult>(await delays.cancel('test.a', 'k', { ...abort, manager }));
  fits<CancelResult[]>(await delays.cancelMany([{ name: 'test.a', key: 'k' }, { id: '1' }]));
  fits<RescheduleResult>(await delays.reschedule('test.a', 'k', { extendBy: '1h' }));
  fits<RescheduleResult[]>(await delays.rescheduleMany([{ id: '1' }], { at: new Date() }, {}));
  fits<RetryDeadResult>(await delays.retryDead('test.a', 'k'));
  fits<DelayInfo<'test.a'> | null>(await delays.find('test.a', 'k', { manager }));
  fits<DelayRecord[]>(await delays.history('test.a', 'k'));
}

async function mistakes(delays: DelayService, manager: EntityManager) {
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
  // @ts-expect-error -- a name and a key, or an id
  await delays.cancelMany([{ name: 'test.a' }]);
  // @ts-expect-error -- either of them
  await delays.cancelMany([{ name: 'test.a', key: 'k', id: '1' }]);
  // @ts-expect-error -- when?
  await delays.reschedule('test.a', 'k', {});
  // @ts-expect-error -- a list
  await delays.rescheduleMany({ id: '1' }, { after: 1 });
  // @ts-expect-error -- a manager beside the options
  await delays.retryDead('test.a', 'k', manager);
  // @ts-expect-error -- it may be absent
  void (await delays.find('test.a', 'k')).id;
  // @ts-expect-error -- a page has no size
  await delays.history('test.a', 'k', { limit: 5 });
  // @ts-expect-error -- an absent one has no due time
  void (await delays.cancel('test.a', 'k')).dueAt;
}

function answers() {
  same<ScheduleResult['verdict'], 'scheduled' | 'replaced' | 'kept' | 'running' | 'rerun'>(true);
  same<CancelResult['verdict'], 'cancelled' | 'running' | 'absent'>(true);
  same<RescheduleResult['verdict'], 'rescheduled' | 'running' | 'absent'>(true);
  same<RetryDeadResult['verdict'], 'retried' | 'absent'>(true);
  same<keyof RescheduleResult, 'verdict'>(true);
  same<keyof RetryDeadResult, 'verdict'>(true);
  same<Exclude<CancelResult, { verdict: 'absent' }>['dueAt'], Date>(true);
  same<LiveState, 'scheduled' | 'running' | 'retrying' | 'dead'>(true);
  same<EndState, 'completed' | 'cancelled' | 'discarded' | 'superseded'>(true);
  same<DelayInfo['state'], LiveState>(true);
  same<DelayInfo['repeat'], DelayRepeat | null>(true);
  same<DelayInfo['attemptLog'], DelayAttempt[]>(true);
  same<DelayRecord['state'], EndState>(true);
  same<'payload' & keyof DelayRecord, never>(true);
  same<DelayAttempt['endedAt'], Date | null>(true);
  type Unfinished = 'running' | 'lost' | 'released' | 'aborted' | 'split' | 'superseded';
  same<DelayAttempt['outcome'], AttemptOutcome>(true);
  same<(DelayInfo | DelayRecord)['moveLog'], DelayMove[]>(true);
  same<DelayInfo['rerunAt'], Date | null>(true);
  same<Extract<CancelResult, { verdict: 'running' }>['rerunCancelled'], true | undefined>(true);
  same<DelayMove['call'], MoveCall>(true);
  same<DelayMove['at' | 'from' | 'to'], Date>(true);
  type Calls = 'reschedule' | 'postpone' | 'runNow' | 'retryDead';
  same<MoveCall, Calls | 'declaration' | 'catchUp' | 'timeZone'>(true);
  same<DelayRecord['group'], string | null>(true);
  same<AttemptOutcome, 'completed' | 'failed' | 'postponed' | Unfinished>(true);
}

function given() {
  same<OnConflict, 'replace' | 'keep' | 'error' | 'earlier' | 'later'>(true);
  same<CancelOptions['running'], 'leave' | 'abort' | undefined>(true);
  same<CancelOptions['abortWithin'], Duration | undefined>(true);
  same<InTransaction, { manager?: EntityManager | 'own'; tx?: DelayTransaction }>(true);
  same<DelayHeaders, Readonly<Record<string, string>>>(true);
  same<ScheduleOptions['group' | 'key'], string | undefined>(true);
  same<ScheduleOptions['maxWait'], Duration | undefined>(true);
  same<When, { after: Duration; at?: never } | { at: Date; after?: never }>(true);
  same<RescheduleTo, When | { extendBy: Duration; after?: never; at?: never }>(true);
  // @ts-expect-error -- the payload of another name
  fits<ScheduleItem<'test.a'>>({ name: 'test.a', payload: { text: '' }, after: 1 });
  // @ts-expect-error -- two due times
  fits<ScheduleItem>({ name: 'test.a', payload: { n: 1 }, at: new Date(), after: 5 });

  fits<Duration[]>([250, '90s', '30 minutes', process.env['NOBODY_SETS_THIS'] ?? '30m']);
  // @ts-expect-error -- neither a number nor a text
  fits<Duration>(new Date());
}

function recurrence() {
  fits<Due>({ repeat: { every: '1h' }, key: 'k' });
  fits<Due>({
    repeat: { cron: '* * * * *', timeZone: 'UTC', catchUp: 'each' },
    key: 'k',
    after: 1,
  });
  // What `find` answers may be given again.
  fits<Due>({ repeat: { every: 1, catchUp: 'each' } as DelayRepeat, key: 'k', at: new Date(0) });
  // @ts-expect-error -- no key
  fits<Due>({ repeat: { every: '1h' } });
  // @ts-expect-error -- no key, beside a first time
  fits<Due>({ repeat: { every: '1h' }, after: 0 });
  // @ts-expect-error -- no interval
  fits<Due>({ repeat: {}, key: 'k' });
  // @ts-expect-error -- two of them
  fits<RepeatInterval>({ every: '1h', cron: '* * * * *' });
  // @ts-expect-error -- a zone without a wall clock
  fits<RepeatInterval>({ every: '1h', timeZone: 'UTC' });
  fits<RepeatInterval>({ every: '1h' });
  // @ts-expect-error -- of many due times none is the earlier one
  fits<Recurring>({ repeat: { every: '1h' }, key: 'k', onConflict: 'earlier' });
  fits<Recurring>({ repeat: { every: 1 }, key: 'k', onConflict: 'keep' });
  fits<ScheduleItem>({ name: 'test.a', payload: { n: 1 }, key: 'k', repeat: { every: '1h' } });
  // @ts-expect-error -- no key
  fits<ScheduleItem>({ name: 'test.a', payload: { n: 1 }, repeat: { every: '1h' } });
  same<CatchUp, 'latest' | 'each' | 'none'>(true);
  same<RepeatRule, RepeatInterval & { catchUp?: CatchUp }>(true);
  same<RepeatOptions, RepeatRule & RepeatEnd>(true);
  same<RepeatEnd, { until?: Date | Duration; limit?: number }>(true);
  type Interval = { every: number } | { cron: string; timeZone: string };
  type Shown = { catchUp: CatchUp; until?: Date; limit?: number };
  same<DelayRepeat, Shown & Interval>(true);
}

it('what DelayService takes and answers, by `tsc`', () => {
  expect([calls, mistakes, answers, given, recurrence]).toBeDefined();
});
