import type { FactoryProvider } from '@nestjs/common';
import {
  type ChangeOptions,
  DelayConflictError,
  DelayEvents,
  type DelayHeaders,
  type DelayInfo,
  DelayInvalidError,
  type DelayName,
  type DelayQueueOptions,
  type InTransaction,
  type OnConflict,
  type PayloadOf,
  type ScheduleResult,
} from '../core/index.js';
import {
  begunAt,
  type Cancelling,
  checkKnownOptions,
  DelayAdmin,
  type DelayClient,
  DelayService,
  DelayWorker,
  type DueTime,
  type Engine,
  type FoundRow,
  inLockOrder,
  keyText,
  type MoveTo,
  type NameAndKey,
  parseNameAndKey,
  needsClock,
  type NewDelay,
  resolveOptions,
  shown,
  type Target,
  toInfo,
  WheelService,
} from '../core/ops.js';
import { DelayHealth } from '../ops/delay.health.js';
import { DelayTestingError } from './delay-run.js';

/** A call about one delay that the stub received, with parsed arguments. */
export interface StubCall {
  call: 'schedule' | 'cancel' | 'reschedule' | 'retryDead' | 'discardDead';
  name: string;
  key: string | null;
  /** The transaction that the call named as `manager` or `tx`; undefined: none. */
  manager: unknown;
  /** The verdict of the call; undefined if it threw. */
  verdict: string | undefined;
}

/** A call that schedules one delay; each item of `scheduleMany` is one. */
export interface StubScheduled<N extends DelayName = DelayName> extends StubCall {
  call: 'schedule';
  name: N;
  payload: PayloadOf<N>;
  /** In milliseconds; null beside `at`. */
  after: number | null;
  at: Date | null;
  onConflict: OnConflict;
  maxAttempts: number | null;
  group: string | null;
  headers: DelayHeaders;
}

/** An answer that a test can choose for the next call. */
export type StubAnswer =
  | 'scheduled'
  | 'replaced'
  | 'kept'
  | 'running'
  | 'cancelled'
  | 'rescheduled'
  | 'retried'
  | 'discarded'
  | 'absent'
  | Error;

/**
 * Replaces the queue in a unit test without a database: records calls, and returns truthful
 * verdicts. Checks arguments as the queue does. Nothing fires, and a ROLLBACK undoes nothing; use
 * `DelayTesting` for that.
 *
 * ```ts
 * const stub = module.get(DelayStub);
 * await orders.place('42');
 * expect(stub.scheduled('order.close')).toMatchObject([{ key: '42', after: 1_800_000 }]);
 * ```
 */
export class DelayStub {
  /** @internal */
  constructor(private readonly client: StubClient) {}

  /** All writing calls, in order. A list of delays is one call for each. */
  get calls(): readonly StubCall[] {
    return this.client.calls;
  }

  /** Calls that schedule under that name, in order. */
  scheduled<N extends DelayName>(name: N): StubScheduled<N>[] {
    const scheduled = this.calls.filter(({ call }) => call === 'schedule') as StubScheduled[];
    return scheduled.filter((call) => call.name === name) as unknown as StubScheduled<N>[];
  }

  /**
   * The next call about that key returns this answer and changes nothing. Several answers are used
   * in order.
   *
   * @param answer a verdict, such as `running`, or an error that is thrown
   */
  answerNext(name: DelayName, key: string, answer: StubAnswer): void {
    this.client.answerNext(parseNameAndKey(name, key), answer);
  }

  /** Forgets all calls, delays and answers: for `beforeEach`. */
  reset(): void {
    this.client.reset();
  }
}

/** Options of the queue that decide which payloads it takes. */
export type DelayStubOptions = Pick<DelayQueueOptions, 'payloads' | 'payloadBytesMax'>;

/**
 * Providers that replace `DelayQueueModule` in a unit test, without a database: all that it
 * exports, and `DelayStub`.
 *
 * ```ts
 * const providers = [OrdersService, ...provideDelayStub()];
 * const module = await Test.createTestingModule({ providers }).compile();
 * ```
 */
export function provideDelayStub(options: DelayStubOptions = {}): FactoryProvider[] {
  checkKnownOptions(options, 'options', ['payloads', 'payloadBytesMax']);
  const resolved = resolveOptions(options);
  const stub = new StubClient();
  const client = stub.asClient;
  const events = new DelayEvents();
  const engine = idleEngine() as Engine;
  const provided: [token: FactoryProvider['provide'], make: () => unknown][] = [
    [DelayStub, () => new DelayStub(stub)],
    [DelayService, () => new DelayService(resolved, client)],
    [DelayAdmin, () => new DelayAdmin(resolved, client)],
    [DelayWorker, () => new DelayWorker(engine)],
    [DelayEvents, () => events],
    [DelayHealth, () => new DelayHealth(engine, events, resolved)],
    [WheelService, () => new WheelService()],
  ];
  return provided.map(([provide, useFactory]) => ({ provide, useFactory }));
}

/** Accepts run and stop, has nothing to run, and is well. */
const idleEngine = (): Pick<Engine, 'isRunning' | 'run' | 'endRun' | 'vitals'> => ({
  isRunning: false,
  vitals: { state: 'running', worker: undefined },
  async run() {
    (this as { isRunning: boolean }).isRunning = true;
  },
  async endRun() {
    (this as { isRunning: boolean }).isRunning = false;
  },
});

const VERDICTS: Readonly<Record<StubCall['call'], readonly string[]>> = {
  schedule: ['scheduled', 'replaced', 'kept', 'running'],
  cancel: ['cancelled', 'running', 'absent'],
  reschedule: ['rescheduled', 'running', 'absent'],
  retryDead: ['retried', 'absent'],
  discardDead: ['discarded', 'absent'],
};

/** @throws the chosen error, or DelayTestingError for a verdict that this call never returns */
function chosenVerdict(call: StubCall['call'], answer: StubAnswer): string {
  if (answer instanceof Error) throw answer;
  if (!VERDICTS[call].includes(answer)) {
    throw new DelayTestingError(
      `${call} never returns ${answer}: give answerNext one of ${VERDICTS[call].join(', ')}, or an error`,
    );
  }
  return answer;
}

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** The same number that the table keeps. */
const MOVES_MAX = 20;

/** Waiting delays, in memory: one per (name, key), as in the table. The clock is `Date`. */
class StubRows {
  readonly #byKey = new Map<string, FoundRow>();
  #ids = 0;

  clear(): void {
    this.#byKey.clear();
  }

  find(name: string, key: string | null): FoundRow | undefined {
    return key === null ? undefined : this.#byKey.get(keyText({ name, key }));
  }

  byId(id: number): FoundRow | undefined {
    return [...this.#byKey.values()].find((row) => row.id === String(id));
  }

  remove({ name, key }: FoundRow): void {
    this.#byKey.delete(keyText({ name, key }));
  }

  nextId(): string {
    return String(++this.#ids);
  }

  place(given: NewDelay): { verdict: 'scheduled' | 'replaced' | 'kept'; row: FoundRow } {
    const nowMs = Date.now();
    const delay = begun(given, nowMs);
    const old = this.find(delay.name, delay.key);
    const due = instantMs(delay.to as DueTime, nowMs);
    if (old === undefined) {
      const row = newRow(delay, this.nextId(), nowMs, due);
      if (delay.key !== null) this.#byKey.set(keyText(delay), row);
      return { verdict: 'scheduled', row };
    }
    if (!replaces(delay, old, due)) return { verdict: 'kept', row: old };
    const { maxWaitMs = null, repeat = null } = delay;
    const createdMs = maxWaitMs === null ? nowMs : old.createdAt.getTime();
    const row = newRow(
      delay,
      old.id,
      createdMs,
      Math.min(due, createdMs + (maxWaitMs ?? Infinity)),
    );
    if (repeat === null) row.repeat = old.repeat;
    else if (!repeat.hasFirst && ruleJson(row) === ruleJson(old))
      moveTo(row, old.dueAt.getTime(), nowMs);
    this.#byKey.set(keyText(delay), row);
    return { verdict: 'replaced', row };
  }

  move(row: FoundRow, to: MoveTo, by: string | undefined): void {
    const nowMs = Date.now();
    const from = row.dueAt;
    const due =
      to.kind === 'extend' ? Math.min(from.getTime() + to.ms, LAST_MS) : instantMs(to, nowMs);
    moveTo(row, due, nowMs);
    const at = new Date(nowMs);
    const move = { call: 'reschedule', at, from, to: row.dueAt, by: by ?? null } as const;
    row.moveLog = [...row.moveLog, move].slice(-MOVES_MAX);
  }
}

function replaces({ onConflict }: NewDelay, old: FoundRow, due: number): boolean {
  if (onConflict === 'earlier') return due < old.dueAt.getTime();
  if (onConflict === 'later') return due > old.dueAt.getTime();
  return onConflict === 'replace';
}

function moveTo(row: FoundRow, due: number, nowMs: number): void {
  row.dueAt = new Date(due);
  row.wakeAt = new Date(Math.max(due, nowMs));
}

const instantMs = (to: DueTime, nowMs: number): number =>
  to.kind === 'after' ? nowMs + to.ms : Date.parse(to.iso);

const begun = (delay: NewDelay, nowMs: number): NewDelay =>
  delay.repeat && needsClock(delay)
    ? { ...delay, ...begunAt(nowMs, delay.repeat, delay.to) }
    : delay;

/** Without its end, and what its due time was computed from. */
function ruleJson({ repeat }: FoundRow): string {
  const ours = ['until', 'limit', 'from', 'offset', 'tz'];
  return JSON.stringify(JSON.parse(repeat ?? '{}'), (part: string, value: unknown) =>
    ours.includes(part) ? undefined : value,
  );
}

const newRow = (delay: NewDelay, id: string, createdMs: number, due: number): FoundRow => ({
  id,
  name: delay.name,
  key: delay.key as string,
  ...givenExtras(delay),
  payload: delay.payload,
  state: 'scheduled',
  dueAt: new Date(due),
  wakeAt: new Date(Math.max(due, Date.now())),
  attempts: 0,
  maxAttempts: delay.maxAttempts,
  lastError: null,
  createdAt: new Date(createdMs),
  repeat: delay.repeat ? JSON.stringify(delay.repeat.how) : null,
  attemptLog: [],
  moveLog: [],
  rerunAt: null,
});

/** What a call has set beside the payload. */
const givenExtras = ({ group, headers }: NewDelay) => ({
  group,
  headers: JSON.parse(headers ?? '{}') as DelayHeaders,
});

type StubChange = Exclude<StubCall['call'], 'schedule'>;
type StubResult = { verdict: string; id: string; dueAt: Date } | { verdict: 'absent' };

/** Replaces the client, without a database. Arguments are already checked. */
class StubClient {
  readonly calls: StubCall[] = [];
  readonly #rows = new StubRows();
  readonly #answers = new Map<string, StubAnswer[]>();

  /** Typed as the services expect it. */
  get asClient(): DelayClient {
    return this as unknown as DelayClient;
  }

  answerNext(target: NameAndKey, answer: StubAnswer): void {
    const text = keyText(target);
    this.#answers.set(text, [...(this.#answers.get(text) ?? []), answer]);
  }

  reset(): void {
    this.calls.length = 0;
    this.#rows.clear();
    this.#answers.clear();
  }

  async schedule(
    { delays, ready }: Parameters<DelayClient['schedule']>[0],
    options: InTransaction,
  ): Promise<ScheduleResult> {
    const manager = checkTransaction(options);
    await ready;
    const [result] = this.#scheduleAll([delays], manager);
    return result as ScheduleResult;
  }

  async scheduleMany(
    { delays, ready }: Parameters<DelayClient['scheduleMany']>[0],
    options: InTransaction,
  ): Promise<ScheduleResult[]> {
    const manager = checkTransaction(options);
    await ready;
    return this.#scheduleAll(delays, manager);
  }

  /** All or none: refusals come before the first write. */
  #scheduleAll(delays: readonly NewDelay[], manager: unknown): ScheduleResult[] {
    const records = delays.map((delay) => this.#record(scheduledCall(delay, manager)));
    const chosen = delays.map(
      (delay) => this.#chosen('schedule', delay) as ScheduleResult['verdict'] | undefined,
    );
    // If several conflict, the error names the first in lock order, as it does on Postgres.
    for (const { name, key, onConflict } of inLockOrder(
      delays.filter((_, index) => chosen[index] === undefined),
    ).sorted) {
      if (onConflict !== 'error' || key === null) continue;
      if (this.#rows.find(name, key) !== undefined) throw new DelayConflictError(name, key);
    }
    return delays.map((delay, index) => {
      const verdict = chosen[index];
      const placed =
        verdict === undefined ? this.#rows.place(delay) : { verdict, row: this.#standIn(delay) };
      (records[index] as StubCall).verdict = placed.verdict;
      return verdictAnswer(placed.verdict, placed.row);
    });
  }

  async cancel(target: NameAndKey, { transaction }: Cancelling): Promise<StubResult> {
    return this.#change('cancel', target, transaction);
  }

  async cancelMany(targets: readonly Target[], { transaction }: Cancelling): Promise<StubResult[]> {
    return targets.map((target) => this.#change('cancel', target, transaction));
  }

  async reschedule(target: Target, to: MoveTo, options: ChangeOptions) {
    return this.#change('reschedule', target, options, to);
  }

  readonly many = {
    change: async (verb: string, targets: readonly Target[], options: ChangeOptions, to?: MoveTo) =>
      targets.map((target) => this.#change(asChange(verb), target, options, to)),
  };

  readonly matching = refusing('calls of DelayAdmin by a filter');

  readonly reads = refusing('calls of DelayAdmin by a filter', {
    find: async ({ name, key }: NameAndKey, options: InTransaction): Promise<DelayInfo | null> => {
      checkTransaction(options);
      const row = this.#rows.find(name, key);
      return row === undefined ? null : toInfo(row, JSON.parse(row.payload));
    },
    historyOfKey: async () => cannot('history'),
  });

  readonly pausing = refusing('pauses');

  #change(call: StubChange, target: Target, options: ChangeOptions, to?: MoveTo): StubResult {
    const manager = checkTransaction(options);
    const row =
      'id' in target ? this.#rows.byId(target.id) : this.#rows.find(target.name, target.key);
    const about = row ?? ('id' in target ? undefined : target);
    const { name = '', key = null } = about ?? {};
    const record = this.#record<StubCall>({ call, name, key, manager, verdict: undefined });
    const chosen = about && this.#chosen(call, about);
    if (chosen !== undefined) {
      record.verdict = chosen;
      return chosen === 'absent'
        ? { verdict: chosen }
        : verdictAnswer(chosen, this.#standIn(about as NameAndKey));
    }
    // The stub has no dead letters.
    if (row === undefined || call === 'retryDead' || call === 'discardDead') {
      record.verdict = 'absent';
      return { verdict: 'absent' };
    }
    if (call === 'cancel') this.#rows.remove(row);
    else this.#rows.move(row, to as MoveTo, options.by);
    const verdict = call === 'cancel' ? 'cancelled' : 'rescheduled';
    record.verdict = verdict;
    return verdictAnswer(verdict, row);
  }

  #record<Call extends StubCall>(call: Call): Call {
    this.calls.push(call);
    return call;
  }

  #chosen(
    call: StubCall['call'],
    { name, key }: { name: string; key: string | null },
  ): string | undefined {
    const answer = key === null ? undefined : this.#answers.get(keyText({ name, key }))?.shift();
    return answer === undefined ? undefined : chosenVerdict(call, answer);
  }

  /** The delay that a chosen answer is about. */
  #standIn({ name, key }: { name: string; key: string | null }): Pick<FoundRow, 'id' | 'dueAt'> {
    return this.#rows.find(name, key) ?? { id: this.#rows.nextId(), dueAt: new Date() };
  }
}

/** A mock of an EntityManager, or of `tx`, is accepted; other values are refused as usual. */
function checkTransaction({ manager, tx }: InTransaction): unknown {
  if (tx !== undefined) {
    if (manager !== undefined) {
      throw new DelayInvalidError('tx', 'give either manager or tx, not both');
    }
    if ((typeof tx === 'object' && tx !== null) || typeof tx === 'function') return tx;
    throw new DelayInvalidError(
      'tx',
      `must be a transaction such as fromPrisma(tx), not ${shown(tx)}`,
    );
  }
  if (manager === undefined || manager === 'own') return manager;
  if (typeof manager === 'object' && manager !== null) return manager;
  throw new DelayInvalidError(
    'manager',
    `must be an EntityManager (for a QueryRunner, its manager) or 'own', not ${shown(manager)}`,
  );
}

function asChange(verb: string): StubChange {
  if (verb === 'cancel' || verb === 'reschedule') return verb;
  if (verb === 'retryDead' || verb === 'discardDead') return verb;
  return cannot(verb);
}

function cannot(what: string): never {
  throw new DelayTestingError(
    `the stub does not support ${what}: use DelayTesting, with a database, for that test`,
  );
}

const refusing = (what: string, known: Record<string, unknown> = {}): object =>
  new Proxy(known, { get: (_, name) => known[String(name)] ?? (async () => cannot(what)) });

const verdictAnswer = <Verdict extends string>(
  verdict: Verdict,
  { id, dueAt }: Pick<FoundRow, 'id' | 'dueAt'>,
): { verdict: Verdict; id: string; dueAt: Date } => ({ verdict, id, dueAt });

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
