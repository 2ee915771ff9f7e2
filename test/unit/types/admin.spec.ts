import { describe, expect, it } from '@jest/globals';
import type {
  CancelResult,
  Counts,
  DelayAdmin,
  DelayCounts,
  DelayFilter,
  DelayInfo,
  DelayPause,
  DelayStats,
  DelayTarget,
  DiscardDeadResult,
  GroupOrder,
  GroupStats,
  GroupStatsOptions,
  KeyStory,
  MatchingOptions,
  NameStats,
  NodeStats,
  PageOptions,
  PauseOptions,
  RescheduleResult,
  ResumeOptions,
  RetryDeadResult,
  RunNowResult,
} from 'nestjs-delay-queue';
import { same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

const LIST: DelayTarget[] = [{ name: 'test.a', key: 'k' }, { id: '1' }];
const FILTER: DelayFilter = { name: ['test.a', 'test.b'], state: 'dead', dueBefore: new Date() };

/** `tsc` is the judge here, as in `handlers.spec.ts`: nothing of this is called. */
async function calls(admin: DelayAdmin, signal: AbortSignal) {
  const listed: DelayInfo[] = await admin.list({}, { limit: 5, after: '7' });
  const count: number = await admin.count(FILTER);
  const story: KeyStory = await admin.story('k');
  const stats: DelayStats = await admin.stats({ manager: 'own' });
  const groups: GroupStats[] = await admin.groupStats({}, { orderBy: 'total', limit: 5 });
  const cancelled: CancelResult[] = await admin.cancel(LIST, { running: 'abort' });
  const gone: Counts<'cancelled' | 'running'> = await admin.cancel(FILTER, { signal });
  const moved: RescheduleResult[] = await admin.reschedule(LIST, { extendBy: '1h' });
  const movedAll = await admin.reschedule(
    FILTER,
    { after: 1 },
    { onProgress: ({ rescheduled }) => void rescheduled },
  );
  const due: RunNowResult[] = await admin.runNow(LIST);
  const dueAll: Counts<'due' | 'running'> = await admin.runNow(FILTER, { signal });
  const retried: RetryDeadResult[] = await admin.retryDead(LIST);
  const retriedAll: number = (await admin.retryDead(FILTER)).retried;
  const discarded: DiscardDeadResult[] = await admin.discardDead(LIST);
  const discardedAll: number = (await admin.discardDead(FILTER)).discarded;
  const pause: DelayPause = await admin.pause('test.a', { group: 'g', reason: 'why', for: '2h' });
  const ended: DelayPause | null = await admin.resume('test.a', { group: 'g' });
  const reads = [listed, count, story.history[0]?.endedAt, stats.names[0]?.overdue, groups];
  const counts = [gone.matched, movedAll.rescheduled, dueAll.due, retriedAll, discardedAll];
  return [reads, counts, cancelled, moved, due, retried, discarded, pause, ended];
}

async function wrongCalls(admin: DelayAdmin, signal: AbortSignal) {
  // @ts-expect-error -- `{}` says: all
  await admin.list();
  // @ts-expect-error -- an id is a text
  await admin.list({}, { after: 7 });
  // @ts-expect-error -- a misspelt field
  await admin.count({ nmae: 'test.a' });
  // @ts-expect-error -- no name, for it goes across names
  await admin.story('test.a', 'k');
  // @ts-expect-error -- of all
  await admin.stats({ name: 'test.a' });
  // @ts-expect-error -- it is ordered by one field
  await admin.groupStats({}, { orderBy: ['total'] });
  // @ts-expect-error -- by a filter nothing that runs is aborted
  await admin.cancel(FILTER, { running: 'abort' });
  // @ts-expect-error -- a list is one transaction: it has no progress
  await admin.cancel(LIST, { signal });
  // @ts-expect-error -- when?
  await admin.reschedule(FILTER, {});
  // @ts-expect-error -- no target
  await admin.runNow(['1']);
  // @ts-expect-error -- a verdict of another call
  void (await admin.retryDead(FILTER)).discarded;
  // @ts-expect-error -- a name is no filter
  await admin.discardDead('test.a');
  // @ts-expect-error -- for how long?
  await admin.pause('test.a', { for: '1h', until: new Date() });
  // @ts-expect-error -- a name that is not declared
  await admin.pause('tset.a');
  // @ts-expect-error -- there may be none
  void (await admin.resume('test.a')).pausedAt;
}

describe('types of DelayAdmin', () => {
  it('tell lists from filters', () => {
    expect([calls, wrongCalls]).toHaveLength(2);
  });

  it('say which verdicts there are', () => {
    expect([
      same<RunNowResult['verdict'], 'due' | 'running' | 'absent'>(true),
      same<DiscardDeadResult['verdict'], 'discarded' | 'absent'>(true),
      same<Counts<'due'>, { matched: number } & Record<'due', number>>(true),
      same<DelayStats['names'], NameStats[]>(true),
      same<DelayStats['nodes'], NodeStats[]>(true),
      same<DelayStats['pauses'], DelayPause[]>(true),
    ]).not.toContain(false);
    // @ts-expect-error -- a dead letter does not become due
    const runNow: RunNowResult['verdict'] = 'retried';
    // @ts-expect-error -- one that is absent has no id
    const discard: DiscardDeadResult = { verdict: 'absent', id: '1' };
    // @ts-expect-error -- of these verdicts alone
    const counts: Counts<'due'> = { matched: 1, due: 1, running: 0 };
    expect([runNow, discard, counts]).toHaveLength(3);
  });

  it('say what is read', () => {
    const asked = (
      stats: DelayStats,
      name: NameStats,
      counts: DelayCounts,
      node: NodeStats,
      { delays }: KeyStory,
    ) => {
      // @ts-expect-error -- there may be none
      const first: string = stats.names[0].name;
      // @ts-expect-error -- counts are of no name
      const counted: string = counts.name;
      // @ts-expect-error -- there may be none that is overdue
      const oldestMs: number = name.oldestOverdueMs;
      // @ts-expect-error -- counted of one group, whose name is not in it
      const group: GroupStats = { name: 'test.a', paused: false, ...counts };
      // @ts-expect-error -- a node serves many
      const served: string = node.names;
      // @ts-expect-error -- what lives has no end
      return [first, counted, oldestMs, group, served, delays.map(({ endedAt }) => endedAt)];
    };
    // @ts-expect-error -- what was not found has no key
    const story: KeyStory = { delays: [] };
    // @ts-expect-error -- a pause has a beginning
    const pause: DelayPause = { name: 'test.a', group: null, reason: null, until: null };
    expect([asked, story, pause]).toHaveLength(3);
  });

  it('say what a call may be given', () => {
    const given: [
      PageOptions,
      GroupStatsOptions,
      GroupOrder,
      MatchingOptions<'due'>,
      PauseOptions,
      ResumeOptions,
    ] = [
      { limit: 100 },
      { orderBy: 'dead', limit: 1 },
      'oldestOverdueMs',
      { onProgress: ({ matched, due }) => void (matched - due) },
      { until: new Date() },
      {},
    ];
    // @ts-expect-error -- a number
    const page: PageOptions = { limit: '100' };
    // @ts-expect-error -- the limit is a number
    const top: GroupStatsOptions = { limit: '5' };
    // @ts-expect-error -- nobody counts the names
    const order: GroupOrder = 'name';
    // @ts-expect-error -- a verdict of another call
    const matching: MatchingOptions<'due'> = { onProgress: ({ retried }) => void retried };
    // @ts-expect-error -- either of them
    const pause: PauseOptions = { until: new Date(), for: '1h' };
    // @ts-expect-error -- what ends needs no reason
    const resume: ResumeOptions = { reason: 'over' };
    // @ts-expect-error -- a key alone may be many
    const target: DelayTarget = { key: 'k' };
    // @ts-expect-error -- no state of what lives
    const state: DelayFilter = { state: 'completed' };
    expect([...given, page, top, order, matching, pause, resume, target, state]).toHaveLength(14);
  });

  it('headers are texts by name', () => {
    const filters: DelayFilter[] = [
      { headers: { campaign: 'autumn', 'x-trace': '' } },
      // @ts-expect-error -- a number
      { headers: { campaign: 7 } },
      // @ts-expect-error -- a list of words
      { headers: ['autumn'] },
      // @ts-expect-error -- the name that other libraries have for them
      { tags: ['autumn'] },
    ];
    expect(filters).toHaveLength(4);
  });
});
