import type { DataSource } from 'typeorm';
import { DelayConfigError } from '../../delay/delay.errors.js';

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
 * @throws DelayConfigError when the pool has one connection; what `dataSource.runMigrations()` throws; the lock is released either way
 */
export async function runMigrations(dataSource: DataSource): Promise<void> {
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
    await keeper.query(`SELECT pg_advisory_xact_lock(hashtextextended('nestjs-delay-queue', 0))`);
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
