import { afterEach, beforeEach } from '@jest/globals';
import type { CancelResult, DelayEventMap, DelayQueueOptions } from 'nestjs-delay-queue';
import type { QueryResultRow } from 'pg';
import type { Provider } from '@nestjs/common';
import { InFlight } from '../../../../src/delay-queue/settlement/in-flight.js';
import { AttemptStore } from '../../../../src/delay-queue/store/attempt.store.js';
import { type DelayNode, type Signal, signal } from '../../../support/delay-node.js';
import { until } from '../../../support/until.js';
import { Stage } from '../../engine/support/stage.js';

export type AbortEvent = Extract<
  keyof DelayEventMap,
  'aborted' | 'completed' | 'dead' | 'lingering' | 'lost' | 'released' | 'retrying' | 'split'
>;

const HEARD: readonly AbortEvent[] = [
  'aborted',
  'completed',
  'dead',
  'lingering',
  'lost',
  'released',
  'retrying',
  'split',
];

/** A node that runs handlers, and one that has none and asks. One test's; `effect` counts what handlers did. */
export class TwoNodes {
  #stage!: Stage;
  #restores: (() => void)[] = [];
  runs!: DelayNode;
  asks!: DelayNode;
  /** What the node that runs has told of its attempts: event and key. */
  told: [event: AbortEvent, key: string | null][] = [];
  readonly #unhandled: unknown[] = [];
  readonly #onUnhandled = (error: unknown): void => void this.#unhandled.push(error);

  constructor() {
    beforeEach(async () => {
      this.told = [];
      process.on('unhandledRejection', this.#onUnhandled);
      this.#stage = await Stage.open();
      await this.sql('CREATE TABLE effect (key text, run text)');
    });

    afterEach(async () => {
      await this.#stage.close();
      for (const restore of this.#restores.splice(0)) restore();
      process.off('unhandledRejection', this.#onUnhandled);
      // What nobody handled fails whichever test it belongs to.
      const [error] = this.#unhandled.splice(0);
      if (error !== undefined) throw error;
    });
  }

  async start(providers: Provider[], options: DelayQueueOptions = {}, poolMax = 20): Promise<void> {
    this.runs = await this.another(providers, { nodeName: 'runs', ...options }, poolMax);
    for (const event of HEARD) {
      this.runs.events.on(event, ({ key }: { key: string | null }) => this.told.push([event, key]));
    }
    this.asks = await this.another([], { nodeName: 'asks', worker: false });
  }

  another(providers: Provider[], options: DelayQueueOptions, poolMax = 20): Promise<DelayNode> {
    return this.#stage.start({ providers, options, poolMax });
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

  until<Row extends QueryResultRow>(text: string, accept: (rows: Row[]) => boolean) {
    return this.#stage.until<Row>(text, accept);
  }

  /** The keys of which a handler's effect was committed. */
  async effects(): Promise<(string | null)[]> {
    const rows = await this.sql<{ key: string | null }>('SELECT key FROM effect ORDER BY key');
    return rows.map(({ key }) => key);
  }

  /** How the delays of that key ended, the newest first. */
  async ends(name: `test.${string}`, key: string): Promise<string[]> {
    return (await this.asks.delays.history(name, key)).map(({ state }) => state);
  }

  /** From now on the fence of attempts waits once it has its answer, and their removal before it is sent. */
  hold(method: 'fence' | 'complete'): { reached: Signal<void>; goOn: Signal<void> } {
    const [reached, goOn] = [signal(), signal()];
    const original = AttemptStore.prototype[method] as (...all: unknown[]) => Promise<unknown>;
    const wait = async (): Promise<void> => {
      reached.resolve();
      await goOn.promise;
    };
    const held = async function held(this: AttemptStore, ...all: unknown[]): Promise<unknown> {
      // Without a runner it is not that of a transactional attempt.
      if (method === 'complete' && all[1] !== undefined) await wait();
      const answer = await original.apply(this, all);
      if (method === 'fence') await wait();
      return answer;
    };
    AttemptStore.prototype[method] = held as never;
    this.#restores.push(() => {
      AttemptStore.prototype[method] = original as never;
    });
    return { reached, goOn };
  }

  /** @returns what resolves when a node has been asked so often to end attempts, whether it runs them or not */
  heard(): (times: number) => Promise<number> {
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const { abort } = InFlight.prototype;
    let heard = 0;
    InFlight.prototype.abort = function counted(claims): void {
      heard += 1;
      abort.call(this, claims);
    };
    this.#restores.push(() => {
      InFlight.prototype.abort = abort;
    });
    return (times) =>
      until(
        () => heard,
        (count) => count >= times,
      );
  }

  /** Resolves when the node that runs has been asked to end an attempt that it runs. */
  asked(): Promise<void> {
    const asked = signal();
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const { abort } = InFlight.prototype;
    InFlight.prototype.abort = function heard(claims): void {
      if (claims.some(({ id, epoch }) => this.covers(id, epoch))) asked.resolve();
      abort.call(this, claims);
    };
    this.#restores.push(() => {
      InFlight.prototype.abort = abort;
    });
    return asked.promise;
  }
}

export const verdicts = (results: readonly CancelResult[]): string[] =>
  results.map(({ verdict }) => verdict);

export const hasRows = ({ length }: readonly unknown[]): boolean => length > 0;

export const ABORT = { running: 'abort', abortWithin: '30s' } as const;
