import type { DataSource } from 'typeorm';
import { DelayConfigError } from '../../delay/delay.errors.js';
import type { Duration } from '../../delay/time/duration.js';
import { atStart } from '../../validation/blame.js';
import { parseDurationBetween } from '../../validation/duration.js';
import { LOCK_WITHIN_MS, takeAdvisoryLock } from './advisory-lock.js';

/**
 * Runs a DataSource's pending migrations while holding an advisory lock, so that any number of
 * nodes may start on an empty database at the same moment: TypeORM itself takes none, and two
 * nodes that create its `migrations` table at once end with a unique violation.
 *
 * ```ts
 * await dataSource.initialize();
 * await runMigrations(dataSource);
 * ```
 *
 * @param options.wait how long to wait for another process that runs them, or for a stranger that has the lock; default
 * `'1m'`, 1 ms to 24 h
 * @throws DelayConfigError when the pool has one connection; when the time is over, naming who has the lock; what `dataSource.runMigrations()` throws; the lock is released either way
 */
export async function runMigrations(
  dataSource: DataSource,
  options: { wait?: Duration } = {},
): Promise<void> {
  const { wait = LOCK_WITHIN_MS } = options;
  const waitMs = atStart('runMigrations', () => parseDurationBetween(wait, 'wait', '1ms', '24h'));
  const poolMax = poolMaxOf(dataSource);
  if (poolMax < 2) {
    throw new DelayConfigError(
      `runMigrations needs a pool of at least 2 connections (poolSize), not ${poolMax}`,
    );
  }
  const keeper = dataSource.createQueryRunner();
  await keeper.connect();
  try {
    // A transaction's lock, not a session's: it also holds behind a pooler in transaction mode.
    await keeper.startTransaction();
    await takeAdvisoryLock(
      (sql, parameters) => keeper.query(sql, parameters),
      'nestjs-delay-queue',
      'runMigrations',
      waitMs,
    );
    await dataSource.runMigrations();
    await keeper.commitTransaction();
  } catch (error) {
    if (keeper.isTransactionActive) await keeper.rollbackTransaction();
    throw error;
  } finally {
    await keeper.release();
  }
}

const poolMaxOf = (dataSource: DataSource): number =>
  (dataSource.driver as unknown as { master?: { options: { max: number } } }).master?.options.max ??
  Infinity;
