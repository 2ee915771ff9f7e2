import type { INestApplicationContext } from '@nestjs/common';
import { DelayConfigError } from '../delay/delay.errors.js';
import type { DelayInfo, DelayName, PayloadOf } from '../delay/delay.js';
import type { Duration } from '../delay/time/duration.js';
import {
  type DelayQueueOptions,
  GIVEN_OPTIONS,
  RESOLVED_OPTIONS,
  type ResolvedOptions,
} from '../options/delay-queue.options.js';
import { resolveOptions } from '../options/resolve-options.js';
import { isManual } from '../runtime/manual-runs.js';
import { parseDurationMs } from '../validation/duration.js';
import { checkKey, checkName } from '../validation/names.js';
import type { DelayRun } from './delay-run.js';
import { delayText, expectedOf, failed, isWaiting, mismatch } from './expectation.js';
import { type Tested, testedOf } from './tested.js';
import { TimeTravel } from './time-travel.js';

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

/** What the application was given is refused as always. */
const resolveManually = (given: DelayQueueOptions | undefined): ResolvedOptions =>
  resolveOptions(resolveOptions(given) && { ...given, worker: 'manual' });

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
 * The database's clock cannot be set, so what waits is moved instead: all instants in the queue's own tables become
 * older, of delays, history, pauses and rate limits. Your own tables do not, nor does the clock: a handler that compares
 * a deadline of yours with the time finds it in the future still. Let it ask a clock of yours, which says
 * `testing.now()` in tests.
 *
 * One call at a time. What a handler throws is an outcome and no error of the call. All errors: `DelayInvalidError` for
 * what is not acceptable, `DelayTestingError` for what cannot be done now, `DelayUnstableError` when an open transaction
 * holds what would move, `DelayShutdownError` once the application closes.
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
  static prepare<Builder extends OverridableModule<Builder>>(builder: Builder): Builder {
    return builder
      .overrideProvider(RESOLVED_OPTIONS)
      .useFactory({ factory: resolveManually, inject: [GIVEN_OPTIONS] });
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
   * @throws DelayTestingError when it does not wait, or nobody here has a handler of that name
   */
  async fire<N extends DelayName>(name: N, key: string): Promise<DelayRun<N>> {
    checkName(name);
    checkKey(key);
    return await this.#travel.fire(name, key, () => this.#there(name));
  }

  /**
   * Cancels all there is, dead letters and what recurs, too: for a test that wants to begin as with a new application.
   * What a `@RepeatDelay` of it declares stands again, at its next instant. History and pauses stay.
   */
  async clear(): Promise<void> {
    await this.#travel.clear();
  }

  /** What a clock of yours should say in a test: the database's time, and all that was let pass. */
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
    const of = `${name} of ${JSON.stringify(key)}`;
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
    throw failed(`${name} of ${JSON.stringify(key)} ${why}`, given);
  }

  #find<N extends DelayName>(name: N, key: string): Promise<DelayInfo<N> | null> {
    return this.tested.producer.find({ name: checkName(name) as N, key: checkKey(key) }, {});
  }

  #nowMs(): number {
    return this.tested.engine.manual?.nowMs() ?? Date.now();
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
