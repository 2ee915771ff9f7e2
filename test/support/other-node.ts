import type { ClientBase } from 'pg';
import type { EntityManager } from 'typeorm';
import type { HistoryKept } from '../../src/delay-queue/core/config/options.js';
import type { ClaimedRow } from '../../src/delay-queue/core/store/rows/answers.js';
import type { ProcessLock } from '../../src/delay-queue/core/store/rows/attempt-rows.js';
import type { Fence } from '../../src/delay-queue/core/store/rows/delay-rows.js';
import {
  LOCK_NOT_AVAILABLE,
  readSqlState,
} from '../../src/delay-queue/core/database/driver-errors.js';
import type { Runner } from '../../src/delay-queue/core/database/runner.js';
import { FIRST_PAGE } from '../../src/delay-queue/core/store/rows/answers.js';
import { AttemptStore } from '../../src/delay-queue/core/store/attempt.store.js';
import { NodeStore } from '../../src/delay-queue/core/store/node.store.js';

/** A node that is driven by hand: every statement is the engine's own, and so is its order here. */
export class OtherNode {
  readonly store: AttemptStore;
  readonly node: NodeStore;
  readonly #runner: Runner;

  /** @param source where its statements run: a pool, or a transaction that stays open */
  constructor(
    source: Pick<EntityManager, 'query'>,
    readonly name = 'other-node',
    {
      schema = 'delay_queue',
      kept = 'ends',
      lock,
    }: { schema?: string; kept?: HistoryKept; lock?: ProcessLock } = {},
  ) {
    this.#runner = runnerOn(source);
    this.store = new AttemptStore(this.#runner, schema, kept, name, lock);
    this.node = new NodeStore(this.#runner, schema, name);
  }

  /** Deletes from the first page of history. @returns how many */
  async prune(keepMs: number, limit: number, isAbandoned = false): Promise<number> {
    const keep = { keepMs, names: [], areOthers: true, isAbandoned };
    return (await this.node.prune(keep, FIRST_PAGE, limit)).count;
  }

  /** Claims a row that is due; fails when it does not get it. */
  async claim(
    id: string,
    { leaseMs = 60_000, maxAttempts = 10, fenced = false } = {},
  ): Promise<ClaimedRow> {
    const [seen] = await this.store.lookAt([Number(id)]);
    if (seen === undefined) throw new Error(`there is no delay ${id}`);
    const { epoch } = seen;
    const [row] = await this.store.claim([{ id: Number(id), epoch, leaseMs, maxAttempts, fenced }]);
    if (row === undefined) throw new Error(`the delay ${id} was not claimed`);
    return row;
  }

  /** Claims it and dies: the lease is over at once. */
  claimAndDie(id: string): Promise<ClaimedRow> {
    return this.claim(id, { leaseMs: 0 });
  }

  /** One failed attempt that leaves it waiting, or for `null` as a dead letter. */
  async claimAndFail(id: string, waitMs: number | null, error = 'Error: no'): Promise<void> {
    const { epoch } = await this.claim(id);
    await this.store.retry([
      { id: Number(id), epoch, waitMs, movesDue: false, refund: 0, ends: 'failed', error },
    ]);
  }

  /** Ends a transactional attempt in the open transaction, as its last statement. */
  async remove(claim: Fence): Promise<void> {
    const end = await this.tryRemove(claim);
    if (end !== 'removed') throw new Error(`the claim of ${claim.id} is ${end}`);
  }

  /** The same; `held`: by the transaction of another. */
  async tryRemove({ id, epoch }: Fence): Promise<'removed' | 'held' | 'lost'> {
    try {
      const isRemoved = await this.store.remove([{ id, epoch, latenessMs: 0 }], this.#runner);
      return isRemoved ? 'removed' : 'lost';
    } catch (error) {
      if (readSqlState(error) === LOCK_NOT_AVAILABLE) return 'held';
      throw error;
    }
  }
}

export const runnerOn = (source: Pick<EntityManager, 'query'>): Runner => ({
  query: <Row>(sql: string, parameters: unknown[]) => source.query<Row[]>(sql, parameters),
});

/** The same on a bare connection. */
export const clientRunner = (client: Pick<ClientBase, 'query'>): Runner => ({
  query: async <Row>(sql: string, parameters: unknown[]) =>
    (await client.query<Row & object>(sql, parameters)).rows,
});
