import { afterEach, beforeAll } from '@jest/globals';
import type { DelayContext } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import {
  batchHandler,
  fencedBatchHandler,
  fencedHandler,
  type NodeSetup,
  plainHandler,
} from './delay-node.js';
import { OneNode } from './one-node.js';
import { until } from './until.js';

/** The handlers of the node, by kind, and the name of each. */
export const NAMES = {
  plain: 'test.plain',
  transactional: 'test.transactional',
  'plain batch': 'test.plain-batch',
  'transactional batch': 'test.transactional-batch',
} as const;
export type Kind = keyof typeof NAMES;

export const KEY = 'k';

/** What every handler gets; a plain one has no manager. */
export type ActingContext = DelayContext & { manager?: EntityManager };

/** What an act may ask of its delay. */
interface Acted {
  attempt: number;
  payload: unknown;
}

type Act = (ctx: ActingContext, delay: Acted) => unknown;

const ENDS = ['completed', 'superseded', 'lost', 'retrying', 'dead'] as const;

/** How an attempt ended. */
export interface AttemptEnd {
  event: (typeof ENDS)[number];
  id: string;
  attempt: number;
  error?: string;
}

/** One node for all tests of a file, with a handler of each kind. What they do, each test says. */
export class ActingNode extends OneNode {
  /** Of all attempts of this test, in the order of their events. */
  ends: AttemptEnd[] = [];
  #act: Act = () => {};

  constructor(setup: Omit<NodeSetup, 'url' | 'providers'> = {}) {
    const one = async (delay: Acted, ctx: ActingContext): Promise<void> =>
      void (await this.#act(ctx, delay));
    const many = async ([delay]: Acted[], ctx: ActingContext): Promise<void> =>
      void (await this.#act(ctx, delay!));
    super({
      ...setup,
      providers: [
        plainHandler(NAMES.plain, one),
        fencedHandler(NAMES.transactional, one),
        batchHandler(NAMES['plain batch'], many, { batch: 5 }),
        fencedBatchHandler(NAMES['transactional batch'], many, { batch: 5 }),
      ],
    });

    beforeAll(() => {
      for (const event of ENDS) this.events.on(event, (end) => this.ends.push({ ...end, event }));
    });

    afterEach(() => {
      this.#act = () => {};
      this.ends = [];
    });
  }

  /**
   * Schedules one delay, and has its handler do that in each attempt.
   * @returns how its first attempt ended, and what `act` answered in it
   */
  async fire<Answer>(
    kind: Kind,
    act: (ctx: ActingContext, delay: Acted) => Promise<Answer> | Answer,
    { maxAttempts = 10 } = {},
  ): Promise<{ end: AttemptEnd; answer: Answer }> {
    const answers: Answer[] = [];
    this.#act = async (ctx, delay) => void answers.push(await act(ctx, delay));
    const options = { after: 0, key: KEY, maxAttempts };
    const { id } = await this.delays.schedule(NAMES[kind], 'first', options);
    const ended = ({ id: of }: AttemptEnd): boolean => of === id;
    const ends = await until(
      () => this.ends.filter(ended),
      ({ length }) => length > 0,
    );
    return { end: ends[0]!, answer: answers[0]! };
  }

  /** The states in history of the delay that was fired, the newest first. */
  async states(kind: Kind): Promise<string[]> {
    return (await this.delays.history(NAMES[kind], KEY)).map(({ state }) => state);
  }
}
