import { DataSource } from 'typeorm';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { OwnPool } from '../../../src/delay-queue/database/own-pool.js';
import { Cancels } from '../../../src/delay-queue/producer/abort/cancels.js';
import { BorrowedConnection } from '../../../src/delay-queue/database/borrowed-connection.js';
import { isRowOf } from '../../../src/delay-queue/store/sql/parts/planner.js';
import { wholeMs } from '../../../src/delay-queue/store/tables/schema.js';
import type { Mutant } from './mutant.js';
import { STATEMENTS } from './statements.js';
import type { Surgery } from './surgery.js';

const LEASE_OVER = 'd.leased_until <= clock.now';
const ANY_LEASE = 'd.leased_until IS NOT NULL';

/** Calls per second where a call has to meet an attempt that takes its time. */
const CROWDED = 200;

/** How long an answer runs ahead of its commit. */
const COMMIT_AFTER_MS = 700;

/** Mutants that tell clients what is not so. */
export const CALLS: Record<string, Mutant> = {
  'cancels-what-runs': {
    about: 'cancels a delay while an attempt holds its lease',
    faults: [],
    seconds: 12,
    rate: CROWDED,
    apply: (surgery) => surgery.rewrite('cancel', { [LEASE_OVER]: ANY_LEASE }),
  },
  'reschedules-what-runs': {
    about: 'moves a delay while an attempt holds its lease',
    faults: [],
    seconds: 12,
    rate: CROWDED,
    apply: (surgery) => surgery.rewrite('reschedule', { [LEASE_OVER]: ANY_LEASE }),
  },
  'replaces-what-runs': {
    about: 'rewrites a delay while an attempt holds its lease',
    faults: [],
    seconds: 12,
    rate: CROWDED,
    apply: (surgery) => surgery.rewrite('placeAgain', { [LEASE_OVER]: ANY_LEASE }),
  },
  'cancels-in-words': {
    about: 'says "cancelled" and leaves the row where it is',
    faults: [],
    seconds: 10,
    apply: (surgery) => {
      surgery.rewrite('cancel', {
        [`DELETE FROM "delay_queue".delay d USING free f WHERE ${isRowOf('f')} RETURNING f.*`]:
          'SELECT f.* FROM free f',
      });
      surgery.rewrite('cancelOne', {
        '"delay_queue".cancel_one($1::text, $2::text, $3::text)': `(
          SELECT d.id::text AS id, (date_part('epoch', d.due_at) * 1e3)::bigint::text AS due_ms FROM "delay_queue".delay d
          WHERE d.name = $1::text AND d.key = $2::text AND d.leased_by IS NULL AND $3::text <> '') gone`,
      });
      surgery.rewrite('cancelWaiting', {
        'DELETE FROM "delay_queue".delay WHERE id': 'SELECT * FROM "delay_queue".delay WHERE id',
        '\n  RETURNING id, name, key, due_at, wake_at, created_at, epoch, attempts, last_error, attempt_log':
          '',
      });
    },
  },
  'aborts-in-words': {
    about: 'says "cancelled" of what runs as soon as its attempt was told to end',
    faults: [],
    seconds: 12,
    rate: CROWDED,
    apply: (surgery) =>
      surgery.wrap(
        Cancels.prototype,
        'one',
        (original) =>
          async function hasty(this: Cancels, target, cancelling) {
            if (cancelling.abortWithinMs === undefined)
              return original.call(this, target, cancelling);
            const told = await original.call(this, target, { ...cancelling, abortWithinMs: 1 });
            return told.verdict === 'running' ? { ...told, verdict: 'cancelled' } : told;
          },
      ),
  },
  'reschedules-in-words': {
    about: 'writes the new due time and leaves the old wake',
    faults: [],
    seconds: 12,
    apply: (surgery) =>
      surgery.rewrite('reschedule', {
        [`wake_at = GREATEST(t.due, ${wholeMs('clock.now')})`]: 'wake_at = d.wake_at',
      }),
  },
  'keeps-in-words': {
    about: 'says "kept" and rewrites the row',
    faults: [],
    seconds: 12,
    apply: (surgery) =>
      surgery.rewrite('placeAgain', {
        "WHEN 'replace' THEN true": "WHEN 'replace' THEN true WHEN 'keep' THEN true",
        "WHEN p.ord IS NOT NULL THEN 'replaced'":
          "WHEN p.ord IS NOT NULL AND i.on_conflict = 'replace' THEN 'replaced'",
      }),
  },
  'answers-before-it-writes': {
    about: 'says "scheduled" a little before COMMIT',
    faults: ['kill', 'terminate', 'cut'],
    seconds: 20,
    apply: (surgery) => {
      // All of them over the application's pool, where the next cut is.
      surgery.wrap(
        OwnPool.prototype,
        'tryQuery',
        (original) =>
          async function shy(this: OwnPool, sql, parameters) {
            if (STATEMENTS.place.includes(sql)) return undefined;
            return original.call(this, sql, parameters);
          } as OwnPool['tryQuery'],
      );
      surgery.wrap(
        BorrowedConnection.prototype,
        'query',
        (original) =>
          async function hasty(this: BorrowedConnection, sql, parameters) {
            const { dataSource, isTransactionActive } = this.runner;
            if (!STATEMENTS.place.includes(sql) || isTransactionActive) {
              return original.call(this, sql, parameters);
            }
            return writeLater(dataSource, sql, parameters);
          } as BorrowedConnection['query'],
      );
    },
  },
  'writes-again-when-in-doubt': {
    about: 'repeats a transaction whose COMMIT was not answered',
    faults: ['commit-unanswered'],
    seconds: 25,
    apply: (surgery) => twice(surgery),
  },
  'commits-asynchronously': {
    about: 'acknowledges what is not on the disk yet',
    faults: ['crash'],
    seconds: 25,
    apply: (surgery) =>
      surgery.prepare(() => {
        process.env['PGOPTIONS'] = '-c synchronous_commit=off';
      }),
  },
  'schedules-outside-the-transaction': {
    about: "writes a delay on a connection of its own instead of in the caller's transaction",
    faults: [],
    seconds: 12,
    apply: (surgery) =>
      surgery.wrap(
        PostgresQueryRunner.prototype,
        'query',
        (original) =>
          function aside(this: PostgresQueryRunner, sql, parameters, structured) {
            if (STATEMENTS.place.includes(sql) && this.isTransactionActive) {
              return this.dataSource.query(sql, parameters);
            }
            return original.call(this, sql, parameters, structured);
          } as PostgresQueryRunner['query'],
      ),
  },
};

async function writeLater(
  dataSource: DataSource,
  ...[sql, parameters]: Parameters<DataSource['query']>
): Promise<unknown> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction();
    const rows: unknown = await runner.query(sql, parameters as unknown[]);
    setTimeout(() => {
      const committed = runner.commitTransaction().catch(() => {});
      void committed.then(() => runner.release()).catch(() => {});
    }, COMMIT_AFTER_MS);
    return rows;
  } catch (error) {
    await runner.release();
    throw error;
  }
}

function twice(surgery: Surgery): void {
  surgery.wrap(
    DataSource.prototype,
    'transaction',
    (original) =>
      async function again(this: DataSource, ...parameters: Parameters<DataSource['transaction']>) {
        try {
          return await original.apply(this, parameters);
        } catch (error) {
          // What the server itself refused has an SQLSTATE; a broken connection is merely reported.
          if (!/terminated|closed|reset/i.test(String(error))) throw error;
          return original.apply(this, parameters);
        }
      } as DataSource['transaction'],
  );
}
