import {
  type ChangeOptions,
  DelayConflictError,
  type DelayHeaders,
  type DelayInfo,
  DelayInvalidError,
  type DelayName,
  type InTransaction,
  type ScheduleResult,
} from '../core/index.js';
import {
  begunAt,
  type Cancelling,
  type DelayClient,
  type DueTime,
  type FoundRow,
  inLockOrder,
  isSameRule,
  keyText,
  type MoveTo,
  type NameAndKey,
  needsClock,
  type NewDelay,
  shown,
  type Target,
  toInfo,
} from '../core/ops.js';
import { DelayTestingError } from './delay-run.js';
import type { StubAnswer, StubCall, StubScheduled } from './stub-calls.js';

/** What each call may answer. A list of them is several calls. */
const VERDICTS: Readonly<Record<StubCall['call'], readonly string[]>> = {
  schedule: ['scheduled', 'replaced', 'kept', 'running'],
  cancel: ['cancelled', 'running', 'absent'],
  reschedule: ['rescheduled', 'running', 'absent'],
  retryDead: ['retried', 'absent'],
  discardDead: ['discarded', 'absent'],
};

type ChangingCall = Exclude<StubCall['call'], 'schedule'>;
type StubVerdict = { verdict: string; id: string; dueAt: Date } | { verdict: 'absent' };
type Key = Pick<FoundRow, 'name'> & { key: string | null };

/**
 * Stands for the client, without a database: one waiting delay per name and key, in memory. The
 * clock is `Date`. Its arguments are already checked.
 */
export class StubClient {
  readonly calls: StubCall[] = [];
  readonly #rows = new Map<string, FoundRow>();
  readonly #answers = new Map<string, StubAnswer[]>();
  #ids = 0;

  readonly many = {
    change: async (verb: string, targets: readonly Target[], options: ChangeOptions, to?: MoveTo) =>
      targets.map((target) => this.#change(verb, target, options, to)),
  };
  readonly matching = refusing('calls of DelayAdmin by a filter');
  readonly reads = refusing('calls of DelayAdmin by a filter', {
    find: async (target: NameAndKey, options: InTransaction): Promise<DelayInfo | null> => {
      checkTransaction(options);
      const row = this.#find(target);
      return row === undefined ? null : toInfo(row, JSON.parse(row.payload));
    },
    historyOfKey: async () => cannot('history'),
  });
  readonly pausing = refusing('pauses');

  answerNext(target: NameAndKey, answer: StubAnswer): void {
    const key = keyText(target);
    this.#answers.set(key, [...(this.#answers.get(key) ?? []), answer]);
  }

  reset(): void {
    this.calls.length = 0;
    this.#rows.clear();
    this.#answers.clear();
  }

  async schedule(
    { delays: delay, ready }: Parameters<DelayClient['schedule']>[0],
    options: InTransaction,
  ): Promise<ScheduleResult> {
    const [result] = await this.scheduleMany({ delays: [delay], ready }, options);
    return result as ScheduleResult;
  }

  /** All or none: refusals come before the first write. */
  async scheduleMany(
    { delays, ready }: Parameters<DelayClient['scheduleMany']>[0],
    options: InTransaction,
  ): Promise<ScheduleResult[]> {
    const manager = checkTransaction(options);
    await ready;
    const calls = delays.map((delay) => {
      const call = scheduledCall(delay, manager);
      this.calls.push(call);
      return { delay, call, chosen: this.#chosen('schedule', delay) };
    });
    // If several conflict, the error names the first in lock order, as it does on Postgres.
    const strict = calls.filter(({ delay, chosen }) => delay.onConflict === 'error' && !chosen);
    for (const { name, key } of inLockOrder(strict.map(({ delay }) => delay)).sorted) {
      if (this.#find({ name, key }) !== undefined)
        throw new DelayConflictError(name, key as string);
    }
    return calls.map(({ delay, call, chosen }) => {
      const { verdict, row } = chosen
        ? { verdict: chosen, row: this.#standIn(delay) }
        : this.#place(delay);
      call.verdict = verdict;
      return answerAbout(row, verdict as ScheduleResult['verdict']);
    });
  }

  async cancel(target: NameAndKey, { transaction }: Cancelling): Promise<StubVerdict> {
    return this.#change('cancel', target, transaction);
  }

  async cancelMany(
    targets: readonly Target[],
    { transaction }: Cancelling,
  ): Promise<StubVerdict[]> {
    return targets.map((target) => this.#change('cancel', target, transaction));
  }

  async reschedule(target: Target, to: MoveTo, options: ChangeOptions): Promise<StubVerdict> {
    return this.#change('reschedule', target, options, to);
  }

  #change(verb: string, target: Target, options: ChangeOptions, to?: MoveTo): StubVerdict {
    const call = verb as ChangingCall;
    if (!(call in VERDICTS)) return cannot(verb);
    const manager = checkTransaction(options);
    const row =
      'id' in target
        ? [...this.#rows.values()].find(({ id }) => id === String(target.id))
        : this.#find(target);
    const about = row ?? ('id' in target ? undefined : target);
    const record: StubCall = { call, name: '', key: null, manager, verdict: undefined };
    this.calls.push(Object.assign(record, about && { name: about.name, key: about.key }));
    const chosen = about && this.#chosen(call, about);
    const isMoved = chosen === undefined && row !== undefined;
    if (isMoved && call === 'cancel') this.#rows.delete(keyText(row));
    if (isMoved && call === 'reschedule') move(row, to as MoveTo);
    // Without a database there are no dead letters.
    const canChange = row !== undefined && (call === 'cancel' || call === 'reschedule');
    record.verdict = chosen ?? (canChange ? VERDICTS[call][0] : 'absent');
    const { verdict } = record;
    return verdict === 'absent' || about === undefined
      ? { verdict: 'absent' }
      : answerAbout(row ?? this.#standIn(about), verdict as string);
  }

  #place(given: NewDelay): { verdict: 'scheduled' | 'replaced' | 'kept'; row: FoundRow } {
    const nowMs = Date.now();
    const { repeat = null, maxWaitMs = null, ...delay } = begun(given, nowMs);
    const old = this.#find(delay);
    const dueMs = instantMs(delay.to as DueTime, nowMs);
    if (old !== undefined && !replaces(delay, old, dueMs)) return { verdict: 'kept', row: old };
    const createdAt = old === undefined || maxWaitMs === null ? new Date(nowMs) : old.createdAt;
    const row: FoundRow = {
      id: old?.id ?? this.#nextId(),
      name: delay.name,
      key: delay.key as string,
      ...givenExtras(delay),
      payload: delay.payload,
      state: 'scheduled',
      dueAt: new Date(dueMs),
      wakeAt: new Date(Math.max(dueMs, nowMs)),
      attempts: 0,
      maxAttempts: delay.maxAttempts,
      lastError: null,
      createdAt,
      repeat: repeat && JSON.stringify(repeat.how),
      attemptLog: [],
      moveLog: [],
      rerunAt: null,
    };
    if (old !== undefined) {
      if (maxWaitMs !== null) move(row, Math.min(dueMs, createdAt.getTime() + maxWaitMs));
      if (repeat === null) row.repeat = old.repeat;
      else if (!repeat.hasFirst && old.repeat && isSameRule(JSON.parse(old.repeat), repeat.how))
        move(row, old.dueAt.getTime());
    }
    if (delay.key !== null) this.#rows.set(keyText(row), row);
    return { verdict: old === undefined ? 'scheduled' : 'replaced', row };
  }

  #find({ name, key }: Key): FoundRow | undefined {
    return key === null ? undefined : this.#rows.get(keyText({ name, key }));
  }

  #nextId(): string {
    return String(++this.#ids);
  }

  /** @throws the chosen error, or DelayTestingError for a verdict that this call never returns */
  #chosen(call: StubCall['call'], { name, key }: Key): string | undefined {
    const answer = key === null ? undefined : this.#answers.get(keyText({ name, key }))?.shift();
    if (answer === undefined) return undefined;
    if (answer instanceof Error) throw answer;
    if (VERDICTS[call].includes(answer)) return answer;
    throw new DelayTestingError(
      `${call} never returns ${answer}: give answerNext one of ${VERDICTS[call].join(', ')}, or an error`,
    );
  }

  /** The delay that a chosen answer is about. */
  #standIn(about: Key): Pick<FoundRow, 'id' | 'dueAt'> {
    return this.#find(about) ?? { id: this.#nextId(), dueAt: new Date() };
  }
}

function replaces({ onConflict }: Pick<NewDelay, 'onConflict'>, old: FoundRow, dueMs: number) {
  if (onConflict === 'earlier') return dueMs < old.dueAt.getTime();
  if (onConflict === 'later') return dueMs > old.dueAt.getTime();
  return onConflict === 'replace';
}

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function move(row: FoundRow, to: MoveTo | number): void {
  const nowMs = Date.now();
  let dueMs = row.dueAt.getTime();
  if (typeof to === 'number') dueMs = to;
  else if (to.kind === 'extend') dueMs = Math.min(dueMs + to.ms, LAST_MS);
  else dueMs = instantMs(to, nowMs);
  row.dueAt = new Date(dueMs);
  row.wakeAt = new Date(Math.max(dueMs, nowMs));
}

const instantMs = (to: DueTime, nowMs: number): number =>
  to.kind === 'after' ? nowMs + to.ms : Date.parse(to.iso);

const begun = (delay: NewDelay, nowMs: number): NewDelay =>
  delay.repeat && needsClock(delay)
    ? { ...delay, ...begunAt(nowMs, delay.repeat, delay.to) }
    : delay;

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** A mock of an EntityManager, or of `tx`, is accepted; other values are refused as usual. */
function checkTransaction({ manager, tx }: InTransaction): unknown {
  if (tx === undefined) {
    if (manager === undefined || manager === 'own' || isObject(manager)) return manager;
    throw new DelayInvalidError(
      'manager',
      `must be an EntityManager (for a QueryRunner, its manager) or 'own', not ${shown(manager)}`,
    );
  }
  if (manager !== undefined) {
    throw new DelayInvalidError('tx', 'give either manager or tx, not both');
  }
  if (isObject(tx) || typeof tx === 'function') return tx;
  throw new DelayInvalidError(
    'tx',
    `must be a transaction such as fromPrisma(tx), not ${shown(tx)}`,
  );
}

function cannot(what: string): never {
  throw new DelayTestingError(
    `the stub does not support ${what}: use DelayTesting, with a database, for that test`,
  );
}

const refusing = (what: string, known: Record<string, unknown> = {}): object =>
  new Proxy(known, { get: (_, name) => known[String(name)] ?? (async () => cannot(what)) });

const answerAbout = <Verdict extends string>(
  { id, dueAt }: Pick<FoundRow, 'id' | 'dueAt'>,
  verdict: Verdict,
): { verdict: Verdict; id: string; dueAt: Date } => ({ verdict, id, dueAt });

/** What a call has set beside the payload. */
const givenExtras = ({ group, headers }: NewDelay) => ({
  group,
  headers: JSON.parse(headers ?? '{}') as DelayHeaders,
});

const scheduledCall = (delay: NewDelay, manager: unknown): StubScheduled => ({
  call: 'schedule',
  name: delay.name as DelayName,
  key: delay.key,
  payload: JSON.parse(delay.payload) as never,
  after: delay.to.kind === 'after' ? delay.to.ms : null,
  at: delay.to.kind === 'at' ? new Date(delay.to.iso) : null,
  onConflict: delay.onConflict,
  maxAttempts: delay.maxAttempts,
  ...givenExtras(delay),
  manager,
  verdict: undefined,
});
