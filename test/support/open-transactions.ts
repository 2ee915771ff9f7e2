import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';

const BLOCKED_WITHIN_MS = 10_000;

/** Another caller's transaction, that the test commits or rolls back when it wants. */
export interface OpenTransaction {
  manager: EntityManager;
  commit: () => Promise<void>;
  rollback: () => Promise<void>;
  end: (how: 'commit' | 'rollback') => Promise<void>;
  /** Resolves when somebody waits for a lock that this transaction holds. */
  blocksSomebody: () => Promise<void>;
  /** Resolves when somebody waits for such a lock, or looks again and again because of it. */
  isMet: () => Promise<void>;
}

/** Transactions on connections of their own; `rollbackAll` belongs into `afterEach`. */
export class OpenTransactions {
  readonly #open = new Set<QueryRunner>();

  async begin(dataSource: DataSource, isolation?: Isolation): Promise<OpenTransaction> {
    const runner = dataSource.createQueryRunner();
    await runner.connect();
    this.#open.add(runner);
    const [row] = (await runner.query('SELECT pg_backend_pid() AS pid')) as { pid: number }[];
    await runner.startTransaction(isolation);
    const end = async (how: 'commit' | 'rollback'): Promise<void> => {
      this.#open.delete(runner);
      try {
        await (how === 'commit' ? runner.commitTransaction() : runner.rollbackTransaction());
      } finally {
        await runner.release();
      }
    };
    return {
      manager: runner.manager,
      commit: () => end('commit'),
      rollback: () => end('rollback'),
      end,
      blocksSomebody: () => blocksSomebody(dataSource, row?.pid ?? 0),
      isMet: () => isMet(dataSource, row?.pid ?? 0),
    };
  }

  async rollbackAll(): Promise<void> {
    for (const runner of this.#open) {
      if (runner.isTransactionActive) await runner.rollbackTransaction();
      await runner.release();
    }
    this.#open.clear();
  }
}

/** Postgres has no event for it, so it is looked at again and again. */
async function blocksSomebody(dataSource: DataSource, pid: number): Promise<void> {
  const deadline = performance.now() + BLOCKED_WITHIN_MS;
  while (performance.now() < deadline) {
    const rows: unknown[] = await dataSource.query(
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND $1::int = ANY (pg_blocking_pids(pid))`,
      [pid],
    );
    if (rows.length > 0) return;
    await pause(2);
  }
  throw new Error('nobody waits for this transaction');
}

/** The library's looks in a transaction hold no lock between them: seen twice, a look has been in vain. */
async function isMet(dataSource: DataSource, pid: number): Promise<void> {
  const deadline = performance.now() + BLOCKED_WITHIN_MS;
  const looks = new Map<number, string>();
  while (performance.now() < deadline) {
    const rows: { pid: number; is_blocked: boolean; began: string }[] = await dataSource.query(
      `SELECT pid, $1::int = ANY (pg_blocking_pids(pid)) AS is_blocked, query_start::text AS began
       FROM pg_stat_activity
       WHERE datname = current_database()
         AND ($1::int = ANY (pg_blocking_pids(pid)) OR state = 'idle in transaction'
              AND query LIKE '%unleased AS MATERIALIZED%')`,
      [pid],
    );
    for (const { pid: of, is_blocked, began } of rows) {
      if (is_blocked || (looks.has(of) && looks.get(of) !== began)) return;
      looks.set(of, began);
    }
    await pause(2);
  }
  throw new Error('nobody has met this transaction');
}
