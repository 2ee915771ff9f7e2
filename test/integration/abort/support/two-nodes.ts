import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type {
  CancelResult,
  Delay,
  DelayBatchContext,
  DelayContext,
  DelayEventMap,
} from 'nestjs-delay-queue';
import type { Provider } from '@nestjs/common';
import type { QueryResultRow } from 'pg';
import type { EntityManager } from 'typeorm';
import { Jobs } from '../../../../src/delay-queue/core/worker/jobs.js';
import { AttemptStore } from '../../../../src/delay-queue/core/store/attempt.store.js';
import { type Kind, NAMES } from '../../../support/acting-node.js';
import { attemptPoolOf } from '../../../support/attempt-sessions.js';
import {
  batchHandler,
  type DelayNode,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
  type Signal,
  signal,
} from '../../../support/delay-node.js';
import type { Parts } from '../../../support/parts.js';
import { until } from '../../../support/until.js';
import { Stage } from '../../engine/support/stage.js';

export const KEY = 'k';
/** Plain, and over after four seconds, the only attempt. */
export const SHORT = 'test.short';
/** Plain, one at a time on all nodes together. */
export const LIMITED = 'test.limited';
export const ABORT = { running: 'abort', abortWithin: '30s' } as const;
/** No handler here ends that soon. */
export const BRIEFLY = { running: 'abort', abortWithin: 300 } as const;

const HEARD = [
  'aborted',
  'completed',
  'dead',
  'overrunning',
  'lost',
  'released',
  'retrying',
  'split',
] as const satisfies (keyof DelayEventMap)[];

export type Context = DelayContext & Partial<DelayBatchContext> & { manager?: EntityManager };
/** @param call the how manieth it is of the test */
type Run = (ctx: Context, delays: Delay[], call: number) => Promise<unknown> | void;

/** Resolves when the attempt is to end. */
export const aborted = ({ signal: { aborted: isOver }, signal: of }: Context): Promise<unknown> =>
  isOver ? Promise.resolve() : new Promise((resolve) => of.addEventListener('abort', resolve));

/** What a handler does that gives up when it is told to. */
export const giveUp = async (ctx: Context): Promise<void> => {
  await aborted(ctx);
  ctx.signal.throwIfAborted();
};

export const verdicts = (results: readonly CancelResult[]): string[] =>
  results.map(({ verdict }) => verdict);

/** A node that runs handlers of each kind, and one that has none and asks; for all tests of a file. */
export class TwoNodes {
  #stage!: Stage;
  #run: Run = () => {};
  runs!: DelayNode;
  asks!: DelayNode;
  /** Of the handlers of this test: keys and attempts. */
  calls: [keys: (string | null)[], attempts: number[]][] = [];
  /** What the node that runs has told of its attempts: event and key. */
  told: [event: (typeof HEARD)[number], key: string | null][] = [];
  readonly #unhandled: unknown[] = [];
  readonly #onUnhandled = (error: unknown): void => void this.#unhandled.push(error);

  constructor({ poolMax = 20 } = {}) {
    beforeAll(async () => {
      process.on('unhandledRejection', this.#onUnhandled);
      this.#stage = await Stage.open();
      await this.sql('CREATE TABLE effect (key text)');
      this.runs = await this.another('runs', poolMax);
      for (const event of HEARD) {
        this.runs.events.on(event, ({ key }: { key: string | null }) => {
          this.told.push([event, key]);
        });
      }
      this.asks = await this.#stage.start({ options: { nodeName: 'asks', worker: false } });
    });

    afterEach(async () => {
      this.parts.letGo();
      await this.until(
        'SELECT FROM delay_queue.delay WHERE leased_by IS NOT NULL',
        (rows) => !hasRows(rows),
      );
      await this.#stage.truncate('delay', 'history', 'abort');
      await this.sql('TRUNCATE effect');
      [this.calls, this.told] = [[], []];
      // What nobody handled fails the test.
      const [error] = this.#unhandled.splice(0);
      if (error !== undefined) throw error;
    });

    afterAll(async () => {
      await this.#stage.close();
      process.off('unhandledRejection', this.#onUnhandled);
    });
  }

  /** One more node that runs the same handlers. */
  another(nodeName: string, poolMax = 20): Promise<DelayNode> {
    return this.#stage.start({ providers: this.#handlers(), options: { nodeName }, poolMax });
  }

  #handlers(): Provider[] {
    const one = (delay: Delay, ctx: Context): Promise<void> => this.#call([delay], ctx);
    const many = (delays: Delay[], ctx: Context): Promise<void> => this.#call(delays, ctx);
    return [
      plainHandler(NAMES.plain, one),
      fencedHandler(NAMES.transactional, one),
      batchHandler(NAMES['plain batch'], many, { batch: 5 }),
      fencedBatchHandler(NAMES['transactional batch'], many, { batch: 5 }),
      plainHandler(SHORT, one, { timeout: 4_000, maxAttempts: 1 }),
      plainHandler(LIMITED, one, { global: { concurrency: 1 } }),
    ];
  }

  /** A transactional handler has its effect first, so that there is something to lose; a plain one when it is through. */
  async #call(delays: Delay[], ctx: Context): Promise<void> {
    const keys = delays.map(({ key }) => key);
    this.calls.push([keys, delays.map(({ attempt }) => attempt)]);
    const call = this.calls.length;
    const insert = ['INSERT INTO effect SELECT unnest($1::text[])', [keys]] as const;
    await ctx.manager?.query(insert[0], [...insert[1]]);
    await this.#run(ctx, delays, call);
    if (ctx.manager === undefined) await this.sql(insert[0], [...insert[1]]);
  }

  /** From now on handlers do that. */
  does(run: Run): void {
    this.#run = run;
  }

  /** Schedules it, or all of them, for now. */
  async schedule(kind: Kind, ...keys: string[]): Promise<void> {
    const items = keys.map((key) => ({ name: NAMES[kind], payload: null, key, after: 0 }));
    await this.asks.delays.scheduleMany(items);
  }

  /** A handler that does that has begun. Later calls end at once, unless `run` heeds which call it is in. */
  async begin(kind: Kind, run: Run, keys: string[] = [KEY]): Promise<void> {
    const begun = signal();
    this.does(async (ctx, delays, call) => {
      const ended = run(ctx, delays, call);
      begun.resolve();
      await ended;
    });
    await this.schedule(kind, ...keys);
    await begun.promise;
  }

  /**
   * Waits for so many events. A cancel may be answered before the node that ran the attempt has
   * read the answer to its own write, and tells only then.
   *
   * @returns what was told
   */
  toldOf(atLeast: number): Promise<TwoNodes['told']> {
    return until(
      () => this.told,
      ({ length }) => length >= atLeast,
    );
  }

  sql<Row extends QueryResultRow>(text: string, parameters?: unknown[]): Promise<Row[]> {
    return this.#stage.sql<Row>(text, parameters);
  }

  until<Row extends QueryResultRow>(text: string, accept: (rows: Row[]) => boolean = hasRows) {
    return this.#stage.until<Row>(text, accept);
  }

  /** Resolves when nothing is left to run. */
  async isEmpty(): Promise<void> {
    await this.until('SELECT FROM delay_queue.delay', (rows) => !hasRows(rows));
  }

  /** The keys of which a handler's effect was committed. */
  async effects(): Promise<(string | null)[]> {
    const rows = await this.sql<{ key: string | null }>('SELECT key FROM effect ORDER BY key');
    return rows.map(({ key }) => key);
  }

  /** How the delay of that key ended, the newest first. */
  async ends(kind: Kind): Promise<string[]> {
    return (await this.asks.delays.history(NAMES[kind], KEY)).map(({ state }) => state);
  }

  /** From now on attempts wait once they have a session, or before their removal is sent. */
  hold(what: 'session' | 'remove'): { reached: Signal<void>; goOn: Signal<void> } {
    const [reached, goOn] = [signal(), signal()];
    const wait = async (): Promise<void> => {
      reached.resolve();
      await goOn.promise;
    };
    if (what === 'session') {
      const attempts = attemptPoolOf(this.runs);
      const identify = attempts.identify.bind(attempts);
      attempts.identify = async (client) => {
        attempts.identify = identify;
        await identify(client);
        await wait();
      };
    } else {
      this.parts.intercept(AttemptStore, 'remove', async ({ real }) => {
        await wait();
        return real();
      });
    }
    return { reached, goOn };
  }

  /** Of both nodes, until the test is over. */
  get parts(): Parts {
    return this.#stage.parts;
  }

  get url(): string {
    return this.#stage.url;
  }

  /** Resolves when the node that runs has looked for aborts, and that look had begun later. */
  async looked(): Promise<void> {
    await this.sql(`SELECT pg_notify('delay_queue', 'n')`);
    await this.asked(2, { running: false });
  }

  /** Resolves when nodes have been asked so often to end attempts; `running`: such as run there. */
  async asked(times = 1, { running = true } = {}): Promise<void> {
    let asked = 0;
    this.parts.intercept(Jobs, 'abort', ({ real, given: [claims], self }) => {
      if (!running || claims.some(({ id, epoch }) => self.covers(id, epoch))) asked += 1;
      real();
    });
    await until(
      () => asked,
      (count) => count >= times,
    );
  }
}

const hasRows = ({ length }: readonly unknown[]): boolean => length > 0;
