import type { Delay, DelayBatchContext, OnDelayBatchOptions } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import {
  batchHandler,
  type DelayNode,
  fencedBatchHandler,
  type NodeSetup,
  signal,
} from '../../../support/delay-node.js';
import type { Stage } from './stage.js';

type Context = DelayBatchContext & { manager?: EntityManager };
type Run = (delays: Delay[], ctx: Context) => Promise<void> | void;

/** What makes a batch handler, by its kind. */
export const KINDS = { plain: batchHandler, transactional: fencedBatchHandler };

export type Kind = keyof typeof KINDS;

export const keysOf = (delays: readonly { key: string | null }[]): string[] =>
  delays.map(({ key }) => key ?? '').toSorted();

/** So many keys, in the order in which `keysOf` has them. */
export const keys = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `k${n + 10}`);

/** Delays of the handler under test, all due at once, or one after another from some time on. */
export const batchOf = (of: readonly string[], fromMs = 0, apartMs = 0) =>
  of.map(
    (key, n) => ({ name: 'test.batch', payload: null, key, after: fromMs + n * apartMs }) as const,
  );

/**
 * A node whose only slot is taken by a first call, so that all that is scheduled meanwhile is due
 * when that call ends: what the next call gets is no matter of timing.
 */
export async function startWith(
  stage: Stage,
  kind: Kind,
  run: Run,
  options: Partial<OnDelayBatchOptions> = {},
  ofModule: NodeSetup['options'] = {},
) {
  const begun = signal();
  const goOn = signal();
  const handler = KINDS[kind](
    'test.batch',
    async (delays, ctx) => {
      if (delays[0]?.key !== 'first') return run(delays, ctx);
      begun.resolve();
      await goOn.promise;
    },
    { concurrency: 1, batch: 10, ...options },
  );
  const node: DelayNode = await stage.start({ providers: [handler], options: ofModule });
  return {
    node,
    /** @param meanwhile what else happens while the slot is taken */
    scheduleTogether: async (
      together: string[],
      meanwhile?: () => Promise<unknown>,
    ): Promise<void> => {
      await node.delays.scheduleMany(batchOf(['first']));
      await begun.promise;
      await meanwhile?.();
      await node.delays.scheduleMany(batchOf(together));
      // Due by the database's clock: what is claimed now is claimed together.
      await stage.until<{ due: boolean }>(
        `SELECT bool_and(wake_at <= clock_timestamp()) AS due FROM delay_queue.delay`,
        ([row]) => row?.due === true,
      );
      goOn.resolve();
    },
  };
}

/** Resolves when so many delays are left. */
export const untilLeft = (stage: Stage, count: number): Promise<unknown> =>
  stage.until(`SELECT id FROM delay_queue.delay`, (rows) => rows.length === count);
