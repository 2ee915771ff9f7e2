import type { DataSource } from 'typeorm';

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
 * @throws what `dataSource.runMigrations()` throws; the lock is released either way
 */
export async function runMigrations(dataSource: DataSource): Promise<void> {
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
