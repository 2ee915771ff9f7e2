import { expect, it } from '@jest/globals';
import type {
  AbortCounts,
  AbortMatchingOptions,
  ChangedDelay,
  CancelResult,
  ChangeOptions,
  Counts,
  DelayAdmin,
  DelayCounts,
  DelayExplanation,
  DelayExplanationCause,
  DelayFilter,
  DelayPause,
  DelayRecord,
  DelayStats,
  DelayTarget,
  DelayWait,
  DelayWorker,
  DiscardDeadResult,
  EraseCounts,
  EraseFilter,
  EraseOptions,
  Duration,
  EndStateFilter,
  EndState,
  GroupOrder,
  GroupStats,
  GroupStatsOptions,
  HistoryFilter,
  HistoryPage,
  InTransaction,
  KeyStory,
  ListedDelay,
  MatchingOptions,
  NameStats,
  NodeStats,
  PageOptions,
  PauseOptions,
  RescheduleResult,
  ResumeOptions,
  RetryDeadResult,
  RunNowResult,
  StoryFilter,
} from 'nestjs-delay-queue';
import { fits, same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

const LIST: DelayTarget[] = [{ name: 'test.a', key: 'k' }, { id: '1' }];
const FILTER: DelayFilter = {
  name: ['test.a', 'test.b'],
  group: ['g'],
  state: 'dead',
  dueBefore: new Date(),
};

async function ofWorker(worker: DelayWorker) {
  fits<boolean>(worker.isRunning);
  fits<void>(await worker.run());
  fits<void>(await worker.stop());
  // @ts-expect-error -- a node has one worker, for all its names
  await worker.run('test.a');
  // @ts-expect-error -- how long it waits is an option of the module
  await worker.stop({ drainTimeout: '1s' });
}

async function calls(admin: DelayAdmin, signal: AbortSignal) {
  fits<ListedDelay[]>(await admin.list({}, { limit: 5, after: '7' }));
  fits<DelayRecord[]>(await admin.list({ group: ['g', 'h'], state: 'completed' }, { limit: 5 }));
  fits<number>(await admin.count(FILTER));
  fits<number>(await admin.count({ group: 'g', state: 'completed', endedFrom: new Date() }));
  fits<DelayExplanation>(await admin.explain('test.a', 'k', { manager: 'own' }));
  const found = await admin.explain({ id: '1' });
  if (found.reason === 'paused') fits<Date | null>(found.until);
  if (found.reason === 'notDue') fits<number>(found.inMs);
  fits<readonly DelayExplanationCause[]>(found.also);
  fits<KeyStory>(await admin.story('k'));
  const about: StoryFilter = { group: ['g', 'h'], headers: { a: 'b' }, errorLine: 'no' };
  const pages: Omit<PageOptions, 'payload'> = { limit: 5, after: 'live 7' };
  fits<KeyStory>(await admin.story(about, pages));
  const past: HistoryFilter = {
    ...about,
    state: ['completed', 'cancelled'],
    endedFrom: new Date(),
  };
  fits<HistoryPage>(await admin.history(past, pages));
  const abort: AbortMatchingOptions = { running: 'abort', abortWithin: '5s', signal };
  fits<AbortCounts>(await admin.cancel(FILTER, abort));
  fits<DelayStats>(await admin.stats({ manager: 'own' }));
  fits<GroupStats[]>(await admin.groupStats({}, { orderBy: 'total', limit: 5 }));
  fits<CancelResult[]>(await admin.cancel(LIST, { running: 'abort' }));
  fits<Counts<'cancelled' | 'running'>>(await admin.cancel(FILTER, { signal }));
  fits<RescheduleResult[]>(await admin.reschedule(LIST, { extendBy: '1h' }, { by: 'ann' }));
  const onProgress = ({ rescheduled }: Counts<'rescheduled'>) => void rescheduled;
  fits<Counts<'rescheduled'>>(await admin.reschedule(FILTER, { after: 1 }, { onProgress }));
  fits<RunNowResult[]>(await admin.runNow(LIST));
  fits<Counts<'due' | 'running'>>(await admin.runNow(FILTER, { signal }));
  fits<RetryDeadResult[]>(await admin.retryDead(LIST));
  fits<Counts<'retried'>>(await admin.retryDead(FILTER));
  fits<DiscardDeadResult[]>(await admin.discardDead(LIST));
  fits<Counts<'discarded'>>(await admin.discardDead(FILTER));
  const of: EraseFilter = { group: 'g', headers: { customer: '7' } };
  const how: EraseOptions = { dryRun: true, signal, by: 'ann', operations: false };
  fits<EraseCounts>(await admin.erase(of, how));
  type Erased = 'erased' | 'running' | 'history' | 'pauses' | 'operations';
  same<keyof EraseCounts, Erased>(true);
  same<keyof EraseFilter, 'name' | 'key' | 'keyPrefix' | 'group' | 'headers'>(true);
  same<keyof EraseOptions, keyof ChangeOptions | 'dryRun' | 'operations' | 'signal' | 'onProgress'>(
    true,
  );
  // @ts-expect-error -- of a person, not of a state
  await admin.erase({ state: 'dead' });
  fits<DelayPause>(
    await admin.pause('test.a', { group: 'g', reason: 'why', for: '2h', by: 'ann' }),
  );
  fits<DelayPause | null>(await admin.resume('test.a', { group: 'g' }));
}

async function mistakes(admin: DelayAdmin, signal: AbortSignal) {
  // @ts-expect-error -- `{}` says: all
  await admin.list();
  // @ts-expect-error -- `history` pages through what has ended
  await admin.list({ state: 'completed' }, { after: '7' });
  // @ts-expect-error -- a misspelt field
  await admin.count({ nmae: 'test.a' });
  // @ts-expect-error -- no name, for it goes across names
  await admin.story('test.a', 'k');
  // @ts-expect-error -- a delay without a key has an id
  await admin.explain('test.a');
  // @ts-expect-error -- a name that is not declared
  await admin.explain('tset.a', 'k');
  // @ts-expect-error -- only a pause has an end
  void (await admin.explain('test.a', 'k')).until;
  // @ts-expect-error -- of all
  await admin.stats({ name: 'test.a' });
  // @ts-expect-error -- it is ordered by one field
  await admin.groupStats({}, { orderBy: ['total'] });
  // @ts-expect-error -- only what is to end has a time for it
  await admin.cancel(FILTER, { abortWithin: '5s' });
  // @ts-expect-error -- nothing was aborted
  void (await admin.cancel(FILTER)).aborted;
  // @ts-expect-error -- the past is not live
  await admin.history({ state: 'dead' });
  // @ts-expect-error -- of what lives and what has ended
  await admin.story({ state: 'completed' });
  // @ts-expect-error -- a text of a page
  await admin.story('k', { after: 7 });
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

function answers() {
  same<RunNowResult['verdict'], 'due' | 'running' | 'absent'>(true);
  same<DiscardDeadResult['verdict'], 'discarded' | 'absent'>(true);
  same<keyof (DiscardDeadResult | RunNowResult), 'verdict'>(true);
  same<Counts<'due'>, { matched: number } & Record<'due', number>>(true);
  same<DelayStats, { names: NameStats[]; nodes: NodeStats[]; pauses: DelayPause[] }>(true);
  same<HistoryPage, { history: DelayRecord[]; next: string | null }>(true);
  same<KeyStory['delays'], ListedDelay[]>(true);
  same<Exclude<keyof KeyStory, keyof HistoryPage>, 'delays'>(true);
  same<NameStats['oldestOverdueMs'], number | null>(true);
  type OfName = 'name' | 'nodes' | 'overduePaused' | 'overdueLimited' | 'late' | 'oldestLateMs';
  same<Exclude<keyof NameStats, keyof DelayCounts>, OfName>(true);
  same<ListedDelay['waitsFor'], DelayWait | null>(true);
  same<Exclude<keyof GroupStats, keyof DelayCounts>, 'name' | 'group' | 'paused' | 'limited'>(true);
  same<NodeStats['names'], string[]>(true);
  type Row =
    | 'notDue'
    | 'retrying'
    | 'claimed'
    | 'running'
    | 'orphaned'
    | 'dead'
    | 'unreadable'
    | 'ended'
    | 'absent';
  type Held = 'paused' | 'unserved' | 'throttled' | 'nodeStalled' | 'locked' | 'queued';
  same<DelayExplanationCause['reason'], Row | Held>(true);
  same<DelayExplanation['reason'], DelayExplanationCause['reason']>(true);
  same<
    keyof DelayExplanation,
    'reason' | 'text' | 'id' | 'name' | 'key' | 'group' | 'dueAt' | 'also'
  >(true);
  same<DelayPause['pausedAt'], Date>(true);
  same<DelayPause['until'], Date | null>(true);
}

function options() {
  same<keyof AbortCounts, 'matched' | 'cancelled' | 'aborted' | 'running' | 'absent'>(true);
  same<AbortMatchingOptions['running'], 'abort'>(true);
  same<Exclude<keyof HistoryFilter, keyof StoryFilter>, 'state' | 'endedFrom' | 'endedBefore'>(
    true,
  );
  same<Exclude<keyof DelayFilter, keyof StoryFilter>, 'state' | 'repeating' | 'id'>(true);
  same<DelayFilter['id'], string | readonly string[] | undefined>(true);
  same<EndStateFilter['state'], EndState | readonly EndState[]>(true);
  type Counted = 'scheduled' | 'running' | 'retrying' | 'dead' | 'overdue' | 'oldestOverdueMs';
  same<GroupOrder, 'total' | Counted>(true);
  same<Exclude<keyof PageOptions, keyof InTransaction>, 'limit' | 'after' | 'payload'>(true);
  same<PageOptions['after'], string | undefined>(true);
  same<GroupStatsOptions['limit'], number | undefined>(true);
  same<MatchingOptions<'due'>['signal'], AbortSignal | undefined>(true);
  type Moved = MatchingOptions<'due' | 'running'>;
  same<
    Parameters<NonNullable<Moved['onProgress']>>,
    [counts: Counts<'due' | 'running'>, changed: ChangedDelay<'due' | 'running'>[]]
  >(true);
  same<ChangedDelay<'due' | 'running'>['verdict'], 'due'>(true);
  same<PauseOptions['for'], Duration | undefined>(true);
  same<Exclude<keyof ResumeOptions, keyof InTransaction>, 'group' | 'by'>(true);
  same<Exclude<keyof ChangeOptions, keyof InTransaction>, 'by'>(true);
  same<DelayPause['by'], string | null>(true);
  // @ts-expect-error -- a key alone may be many
  fits<DelayTarget>({ key: 'k' });
  // @ts-expect-error -- no state of what lives
  fits<DelayFilter>({ state: 'completed' });
  fits<DelayFilter>({ headers: { campaign: 'autumn', 'x-trace': '' } });
  // @ts-expect-error -- a number
  fits<DelayFilter>({ headers: { campaign: 7 } });
  // @ts-expect-error -- the name that other libraries have for them
  fits<DelayFilter>({ tags: ['autumn'] });
}

it('what DelayAdmin takes and answers, by `tsc`', () => {
  expect([ofWorker, calls, mistakes, answers, options]).toBeDefined();
});
