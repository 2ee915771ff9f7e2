import { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import type { DelayInfo, DelayName, PayloadOf } from '../api/delay.js';
import { DelayConfigError, DelayInvalidError } from '../api/errors.js';
import { quoted } from '../api/printable.js';
import type { Duration } from '../api/times.js';
import { shown } from '../config/blame.js';
import { instantOf } from '../config/due-times.js';
import { parseDurationMs } from '../config/durations.js';
import { checkKnownOptions } from '../config/known-options.js';
import { checkKey, checkName } from '../config/names.js';
import {
  type DelayQueueOptions,
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../config/options.js';
import { resolveOptions } from '../config/resolve-options.js';
import { isManual } from '../worker/manual-runs.js';
import type { DelayRun } from './delay-run.js';
import { type Tested, testedOf, TimeTravel } from './time-travel.js';

/** What a test takes between its schedule and its look, as long as it does not say otherwise. */
const WITHIN_DEFAULT_MS = 10_000;

/** What `expectScheduled` was given, checked. */
interface Expected {
  dueInMs: number | undefined;
  withinMs: number;
  hasPayload: boolean;
  payload: unknown;
}

/** @throws DelayInvalidError naming the field */
function expectedOf(value: unknown): Expected {
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

/** Whether it will run, if nothing else is done: an attempt that runs may be the last one. */
const isWaiting = ({ state }: DelayInfo): boolean => state === 'scheduled' || state === 'retrying';

/** What is wrong with a delay that waits; undefined: nothing. */
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

/** One delay, for a message. */
function delayText(delay: DelayInfo, nowMs: number): string {
  const { key, state, wakeAt, lastError } = delay;
  const what = key === null ? `#${delay.id} without a key` : quoted(key);
  const when = wakeAt === null ? '' : `, due in ${timeText(Number(wakeAt) - nowMs)}`;
  const error = lastError === null ? '' : ` (${lastError})`;
  return `${what} ${state}${when}${error}`;
}

/** What every test runner takes for a failed expectation. */
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

/** `1d 2h`, `29m 58s`, `250ms`: to the second, where there are any. */
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

/** The part of Nest's `TestingModuleBuilder` that is used here. */
export interface OverridableModule<Builder> {
  overrideProvider(token: unknown): {
    useFactory(options: { factory: (...given: never[]) => unknown; inject: unknown[] }): Builder;
  };
}

/** What `expectScheduled` looks at, beside that it waits. */
export interface ExpectedDelay<N extends DelayName = DelayName> {
  /** How far ahead it is due, its next attempt if one has failed. */
  dueIn?: Duration;
  /** By how much that may differ, for the time that the test itself takes. Default `'10s'`. */
  within?: Duration;
  /** Exactly that payload. */
  payload?: PayloadOf<N>;
}

/** How `prepare` prepares. */
export interface PrepareOptions {
  /**
   * `false`: an application that only schedules, beside the one under test on the same database. It goes by the same
   * clock. Default: `'manual'`.
   */
  worker?: 'manual' | false;
}

/** How `clear` begins anew. */
export interface ClearOptions {
  /**
   * What time it is then, and stays until the test moves it: that of a `Date` that is frozen or faked. Default: the
   * database's time, which goes on by itself.
   */
  now?: Date;
}

/** What the application was given is refused as always. */
function resolveFor(worker: 'manual' | false, given: DelayQueueOptions | undefined) {
  const resolved: ResolvedOptions = resolveOptions(resolveOptions(given) && { ...given, worker });
  resolved.installation.clock = 'test';
  return resolved;
}

/** Delays that a message lists. */
const LISTED_MAX = 10;

/**
 * Delays in tests, on a real database and with the real engine: time passes when the test says so, and only then a
 * handler runs. For an application whose queue has `worker: 'manual'`.
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
 * The delays of an application under test go by a clock of their own: the database's, and all that was let pass. Whatever
 * is seen or said of a delay is in its time, which `now()` tells: `at`, `dueAt`, `createdAt`, history, pauses, limits, cron. While
 * handlers run it stands. `clear({ now })` sets it, to agree with a `Date` that a test has frozen. Neither `Date` nor `now()` of SQL
 * go by it: a handler that compares a deadline of yours with the time asks a clock of yours, which says `testing.now()` in
 * tests.
 *
 * One call at a time. What a handler throws is an outcome and no error of the call. All errors: `DelayInvalidError` for
 * what is not acceptable, `DelayTestingError` for what cannot be done now, `DelayUnstableError` when an open transaction
 * holds what `clear` removes, `DelayShutdownError` once the application closes.
 */
export class DelayTesting {
  readonly #travel: TimeTravel;

  private constructor(private readonly tested: Tested) {
    this.#travel = new TimeTravel(tested);
  }

  /**
   * Gives the queue of an application under test `worker: 'manual'`, whatever its `forRoot` says.
   *
   * @param builder what `Test.createTestingModule` answers, before `compile`
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
    const factory = (given: DelayQueueOptions | undefined) => resolveFor(worker, given);
    return builder
      .overrideProvider(RESOLVED_OPTIONS)
      .useFactory({ factory, inject: [GIVEN_OPTIONS] });
  }

  /**
   * @param app the application, or the module that `compile` answers
   * @throws DelayConfigError when it has no queue, or one that runs by itself
   */
  static of(app: Pick<INestApplicationContext, 'get'>): DelayTesting {
    const tested = testedOf(app);
    if (isManual(tested.options)) return new DelayTesting(tested);
    throw new DelayConfigError(
      "the queue of this application runs by itself: test it with worker: 'manual', or build it with " +
        'DelayTesting.prepare(Test.createTestingModule(…)).compile()',
    );
  }

  /**
   * Lets that much time pass. Runs what becomes due, one due time after the other, also what those handlers schedule and
   * the retries of those that fail, as long as it falls into that time. Of delays that are due in the same millisecond
   * those of one name may share a batch.
   *
   * @returns what ran, in order
   */
  async advance(span: Duration): Promise<DelayRun[]> {
    return await this.#travel.advance(parseDurationMs(span, 'span'));
  }

  /**
   * The same, up to that instant on the clock of the test.
   *
   * @throws DelayTestingError when it has gone by
   */
  async advanceTo(instant: Date): Promise<DelayRun[]> {
    return await this.#travel.advanceTo(Date.parse(instantOf(instant, 'instant')));
  }

  /**
   * Runs all that is due now, together, as after a time without a node, and what becomes due by that. Time does not
   * pass: a retry waits for its backoff, and what a rate limit or a pause holds back for its end.
   *
   * @returns what ran
   */
  async drain(): Promise<DelayRun[]> {
    return await this.#travel.drain();
  }

  /**
   * Runs that one now, wherever its due time, and nothing else.
   *
   * @throws DelayTestingError when it does not wait, or no handler of that name is here
   */
  async fire<N extends DelayName>(name: N, key: string): Promise<DelayRun<N>> {
    checkName(name);
    checkKey(key);
    return await this.#travel.fire(name, key, () => this.#there(name));
  }

  /**
   * Removes all there is: delays, dead letters and what recurs, history, pauses, and what limits know. For a test that wants to
   * begin as with a new application: what a `@RepeatDelay` of it declares stands at its next instant, and the clock is the
   * database's again, or says `now`.
   */
  async clear(options: ClearOptions = {}): Promise<void> {
    const { now } = checkKnownOptions(options, 'options', ['now']);
    await this.#travel.clear(now === undefined ? undefined : Date.parse(instantOf(now, 'now')));
  }

  /**
   * Has a `Date` that the test has faked follow: `testing.onTime((now) => jest.setSystemTime(now))`.
   *
   * @param listener hears what time it is whenever a call here has moved it, before anything runs in that time
   * @returns ends that
   */
  onTime(listener: (now: Date) => void): () => void {
    if (typeof listener !== 'function') {
      throw new DelayInvalidError('listener', `must be a function, not ${shown(listener)}`);
    }
    return this.#travel.follow((nowMs) => listener(new Date(nowMs)));
  }

  /** What a clock of yours should say in a test: the time by which its delays go. */
  now(): Date {
    return new Date(this.#travel.nowMs());
  }

  /**
   * That delay waits, for its first attempt or for another.
   *
   * @throws AssertionError of `node:assert`, which says what is there instead
   */
  async expectScheduled<N extends DelayName>(
    name: N,
    key: string,
    expected: ExpectedDelay<N> = {},
  ): Promise<void> {
    const wanted = expectedOf(expected);
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
   * That delay is not there: neither does it wait, nor does an attempt of it run. A dead letter counts as gone.
   *
   * @throws AssertionError of `node:assert`, which says when it is due
   */
  async expectNotScheduled(name: DelayName, key: string): Promise<void> {
    const delay = await this.#find(name, key);
    if (delay === null || delay.state === 'dead') return;
    const why = `is there: ${delayText(delay, this.#nowMs())}`;
    const given = { actual: delay, expected: null, operator: 'expectNotScheduled' };
    throw failed(`${name} of ${quoted(key)} ${why}`, given);
  }

  #find<N extends DelayName>(name: N, key: string): Promise<DelayInfo<N> | null> {
    return this.tested.producer.find({ name: checkName(name) as N, key: checkKey(key) }, {});
  }

  #nowMs(): number {
    return this.#travel.nowMs();
  }

  /** The delays of that name, for a message. */
  async #there(name: DelayName): Promise<string> {
    const page = { behindId: 0, limit: LISTED_MAX };
    const delays = await this.tested.producer.matching.list({ names: [name] }, page, {});
    if (delays.length === 0) return `There is no delay of that name`;
    const more = delays.length < LISTED_MAX ? '' : ' and perhaps more';
    return `There are ${delays.map((each) => delayText(each, this.#nowMs())).join('; ')}${more}`;
  }
}
