import { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import {
  DelayConfigError,
  type DelayInfo,
  DelayInvalidError,
  type DelayName,
  type DelayQueueOptions,
  type Duration,
  type PayloadOf,
  quoted,
} from '../core/index.js';
import {
  checkKey,
  checkKnownOptions,
  checkName,
  checkQueue,
  DEFAULT_QUEUE,
  GIVEN_OPTIONS,
  checkInstant,
  isManual,
  parseDurationMs,
  QUEUE,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
  resolveOptions,
  shown,
} from '../core/ops.js';
import type { DelayRun } from './delay-run.js';
import { type Tested, findTested, TimeTravel } from './time-travel.js';

/**
 * Tests delays on a real database and with the real engine: time passes only when the test lets it,
 * and only then do handlers run. For an application whose queue has `worker: 'manual'`.
 *
 * ```ts
 * const module = await DelayTesting.prepare(Test.createTestingModule({ imports: [AppModule] })).compile();
 * await module.init();
 * const testing = DelayTesting.of(module);
 * await orders.place('42');
 * await testing.expectScheduled('order.close', '42', { dueIn: '30m' });
 * const [run] = await testing.advance('30m');   // { name: 'order.close', key: '42', outcome: 'completed', … }
 * ```
 *
 * Delays under test have their own clock: the database's, plus all the time that a test lets
 * pass. Everything about a delay is in its time, which `now()` returns: `at`, `dueAt`, `createdAt`,
 * history, pauses, limits, cron. The clock stands still while handlers run. `clear({ now })` sets
 * it, to agree with a `Date` that the test has frozen. Neither `Date` nor `now()` in SQL follows
 * it: a handler that compares a deadline of yours with the time should read a clock of yours, which
 * returns `testing.now()` in tests.
 *
 * Only one call at a time. What a handler throws is an outcome, not an error of the call. All
 * errors: `DelayInvalidError` for wrong arguments, `DelayTestingError` for what is not possible
 * now, `DelayUnstableError` when an open transaction holds what `clear` removes,
 * `DelayShutdownError` once the application closes.
 */
export class DelayTesting {
  readonly #travel: TimeTravel;

  private constructor(private readonly tested: Tested) {
    this.#travel = new TimeTravel(tested);
  }

  /**
   * Gives the queue of an application under test `worker: 'manual'`, whatever its `forRoot` sets.
   *
   * @param builder returned by `Test.createTestingModule`, before `compile`
   * @returns that builder
   */
  static prepare<Builder extends OverridableModule<Builder>>(
    builder: Builder,
    options: PrepareOptions = {},
  ): Builder {
    const { worker = 'manual' } = checkKnownOptions(options, 'options', ['worker']);
    if (worker !== 'manual' && worker !== false) {
      throw new DelayInvalidError('worker', `must be 'manual' or false, not ${shown(worker)}`);
    }
    const factory = (given: DelayQueueOptions | undefined, queue: string) =>
      resolveFor(worker, given, queue);
    return builder
      .overrideProvider(RESOLVED_OPTIONS)
      .useFactory({ factory, inject: [GIVEN_OPTIONS, QUEUE] });
  }

  /**
   * @param app the application, or the module that `compile` returns
   * @param options `queue`: as in `forRoot({ queue })`; default the one without a name
   * @throws DelayConfigError when it has no queue, or one that is not manual
   */
  static of(
    app: Pick<INestApplicationContext, 'get'>,
    options: { queue?: string } = {},
  ): DelayTesting {
    const { queue = DEFAULT_QUEUE } = checkKnownOptions(options, 'options', ['queue']);
    const tested = findTested(app, checkQueue(queue, 'queue'));
    if (isManual(tested.options)) return new DelayTesting(tested);
    throw new DelayConfigError(
      "the queue of this application is not manual: set worker: 'manual', or build it with " +
        'DelayTesting.prepare(Test.createTestingModule(…)).compile()',
    );
  }

  /**
   * Lets `span` pass. Runs what becomes due, one due time after the other, including what those
   * handlers schedule and the retries of those that fail, if they fall into that time. Delays of
   * one name that are due in the same millisecond may share a batch.
   *
   * @returns what ran, in order
   */
  async advance(span: Duration): Promise<DelayRun[]> {
    return await this.#travel.advance(parseDurationMs(span, 'span'));
  }

  /**
   * The same, up to that instant on the test's clock.
   *
   * @throws DelayTestingError when it has passed
   */
  async advanceTo(instant: Date): Promise<DelayRun[]> {
    return await this.#travel.advanceTo(Date.parse(checkInstant(instant, 'instant')));
  }

  /**
   * Runs everything that is due now, at once, as after a period with no node running, and what becomes due
   * by that. Time does not pass: a retry waits for its backoff, and a delay that a rate limit or a
   * pause holds back waits for its end.
   *
   * @returns what ran
   */
  async drain(): Promise<DelayRun[]> {
    return await this.#travel.drain();
  }

  /**
   * Runs that delay now, whenever it is due, and nothing else.
   *
   * @throws DelayTestingError when it does not wait, or no handler of that name is here
   */
  async fire<N extends DelayName>(name: N, key: string): Promise<DelayRun<N>> {
    checkName(name);
    checkKey(key);
    return await this.#travel.fire(name, key, () => this.#there(name));
  }

  /**
   * Removes everything: delays, dead letters, recurring delays, history, pauses, and the state of
   * limits. For a test that begins as with a new application: a `@RepeatDelay` that it declares
   * starts at its next instant, and the clock is the database's again, or shows `now`.
   */
  async clear(options: ClearOptions = {}): Promise<void> {
    const { now } = checkKnownOptions(options, 'options', ['now']);
    await this.#travel.clear(now === undefined ? undefined : Date.parse(checkInstant(now, 'now')));
  }

  /**
   * Lets a faked `Date` follow the test's clock:
   * `testing.onTime((now) => jest.setSystemTime(now))`.
   *
   * @param listener gets the time whenever a call here has moved it, before anything runs then
   * @returns a function that ends this
   */
  onTime(listener: (now: Date) => void): () => void {
    if (typeof listener !== 'function') {
      throw new DelayInvalidError('listener', `must be a function, not ${shown(listener)}`);
    }
    return this.#travel.follow((nowMs) => listener(new Date(nowMs)));
  }

  /** The test's clock, by which its delays run. A clock of yours should return it in tests. */
  now(): Date {
    return new Date(this.#travel.nowMs());
  }

  /**
   * Expects that the delay waits, for its first attempt or for another.
   *
   * @throws AssertionError of `node:assert`, which describes what is there instead
   */
  async expectScheduled<N extends DelayName>(
    name: N,
    key: string,
    expected: ExpectedDelay<N> = {},
  ): Promise<void> {
    const wanted = parseExpected(expected);
    const delay = await this.#find(name, key);
    const of = `${name} of ${quoted(key)}`;
    const given = { actual: delay, expected, operator: 'expectScheduled' };
    if (delay === null || !isWaiting(delay)) {
      const why = delay === null ? '' : ` It is ${delay.state}.`;
      throw failed(`${of} is not scheduled.${why} ${await this.#there(name)}`, given);
    }
    const wrong = mismatch(delay, wanted, this.#nowMs());
    if (wrong !== undefined) throw failed(`${of} is scheduled, but ${wrong}`, given);
  }

  /**
   * Expects that the delay is gone: it does not wait, and no attempt of it runs. A dead letter
   * counts as gone.
   *
   * @throws AssertionError of `node:assert`, which tells when it is due
   */
  async expectNotScheduled(name: DelayName, key: string): Promise<void> {
    const delay = await this.#find(name, key);
    if (delay === null || delay.state === 'dead') return;
    const why = `is there: ${foundDelayText(delay, this.#nowMs())}`;
    const given = { actual: delay, expected: null, operator: 'expectNotScheduled' };
    throw failed(`${name} of ${quoted(key)} ${why}`, given);
  }

  #find<N extends DelayName>(name: N, key: string): Promise<DelayInfo<N> | null> {
    return this.tested.client.reads.find({ name: checkName(name) as N, key: checkKey(key) }, {});
  }

  #nowMs(): number {
    return this.#travel.nowMs();
  }

  /** The delays of that name, for a message. */
  async #there(name: DelayName): Promise<string> {
    const page = { behindId: 0, limit: LISTED_MAX };
    const delays = await this.tested.client.reads.list({ name: [name] }, page, {});
    if (delays.length === 0) return `There is no delay of that name`;
    const more = delays.length < LISTED_MAX ? '' : ', perhaps more';
    return `Delays of that name: ${delays.map((each) => foundDelayText(each, this.#nowMs())).join('; ')}${more}`;
  }
}

/** The part of Nest's `TestingModuleBuilder` that is used here. */
export interface OverridableModule<Builder> {
  overrideProvider(token: unknown): {
    useFactory(options: { factory: (...given: never[]) => unknown; inject: unknown[] }): Builder;
  };
}

/** What `expectScheduled` checks, besides that the delay waits. */
export interface ExpectedDelay<N extends DelayName = DelayName> {
  /** Time until the delay is due, or until its next attempt if one has failed. */
  dueIn?: Duration;
  /** Tolerance of `dueIn`, for the time that the test itself takes. Default `'10s'`. */
  within?: Duration;
  /** The exact payload. */
  payload?: PayloadOf<N>;
}

/** Options of `prepare`. */
export interface PrepareOptions {
  /**
   * `false`: an application that only schedules, beside the one under test on the same database. It
   * uses the same clock. Default: `'manual'`.
   */
  worker?: 'manual' | false;
}

/** Options of `clear`. */
export interface ClearOptions {
  /**
   * The time after `clear`, which stays until the test moves it: that of a frozen or faked `Date`.
   * Default: the database's time, which goes on.
   */
  now?: Date;
}

/** Refuses the application's options as usual. */
function resolveFor(
  worker: 'manual' | false,
  given: DelayQueueOptions | undefined,
  queue: string,
): ResolvedOptions {
  // What is wrong is told of the options as they were given.
  resolveOptions(given, queue);
  const resolved = resolveOptions({ ...given, worker }, queue);
  resolved.installation.clock = 'test';
  return resolved;
}

/** Most delays listed in a message. */
const LISTED_MAX = 10;

/** Default tolerance: the time a test takes between its schedule and its expectation. */
const WITHIN_DEFAULT_MS = 10_000;

interface Expected {
  dueInMs: number | undefined;
  withinMs: number;
  hasPayload: boolean;
  payload: unknown;
}

/** @throws DelayInvalidError naming the field */
function parseExpected(value: unknown): Expected {
  const given = checkKnownOptions(value, 'expected', ['dueIn', 'within', 'payload']);
  const durationMs = (field: string): number | undefined =>
    field in given ? parseDurationMs(given[field], `expected.${field}`) : undefined;
  return {
    dueInMs: durationMs('dueIn'),
    withinMs: durationMs('within') ?? WITHIN_DEFAULT_MS,
    hasPayload: 'payload' in given,
    payload: given['payload'],
  };
}

/** Whether it will run if nothing else is done: an attempt that runs may be the last one. */
const isWaiting = ({ state }: DelayInfo): boolean => state === 'scheduled' || state === 'retrying';

/** What differs from the expectation; undefined: nothing. */
function mismatch(delay: DelayInfo, expected: Expected, nowMs: number): string | undefined {
  const { dueInMs, withinMs, hasPayload, payload } = expected;
  const inMs = Number(delay.wakeAt) - nowMs;
  if (dueInMs !== undefined && Math.abs(inMs - dueInMs) > withinMs) {
    return `it is due in ${timeText(inMs)}, not in ${timeText(dueInMs)} (within ${timeText(withinMs)})`;
  }
  if (hasPayload && !isDeepStrictEqual(delay.payload, payload)) {
    return `its payload is ${JSON.stringify(delay.payload)}, not ${JSON.stringify(payload)}`;
  }
  return undefined;
}

function foundDelayText(delay: DelayInfo, nowMs: number): string {
  const { key, state, wakeAt, lastError } = delay;
  const what = key === null ? `#${delay.id} without a key` : quoted(key);
  const when = wakeAt === null ? '' : `, due in ${timeText(Number(wakeAt) - nowMs)}`;
  const error = lastError === null ? '' : ` (${lastError})`;
  return `${what} ${state}${when}${error}`;
}

/** An AssertionError, which every test runner reports as a failed expectation. */
const failed = (
  message: string,
  given: { actual: unknown; expected: unknown; operator: string },
): AssertionError => new AssertionError({ message, ...given });

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** Formats a time: `1d 2h`, `29m 58s`, or `250ms` below a second. */
function timeText(ms: number): string {
  if (ms < 0) return `-${timeText(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  let rest = ms;
  const parts: string[] = [];
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(' ');
}
