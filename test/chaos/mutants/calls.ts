import { type ChaosMutant, patch } from '../../mutants-by-suite/mutant.js';

const CANCEL = 'core/store/sql/delays.sql.ts';
const RESCHEDULE = 'core/store/sql/delays.sql.ts';
const TAKEN = 'core/store/sql/schedule.sql.ts';
const CANCELS = 'core/client/delay-client.ts';
const OUTSIDE = 'core/transactions/outside-transactions.ts';

const CLIENT = 'test/chaos/load/client.ts';

const ANY_LEASE = ".replace('d.leased_until <= clock.now', 'd.leased_until IS NOT NULL')";

/** Of the statements that insert delays. */
const IS_PLACE = '/INSERT INTO "delay_queue".delay/.test(sql)';

/** Calls per second where a call has to meet an attempt that takes its time. */
const CROWDED = 200;

/** Mutants that tell clients what is not so. */
export const CALLS = {
  'cancels-what-runs': {
    about: 'cancels a delay while an attempt holds its lease',
    patches: [patch(CANCEL, 'of.isNotOwn(),\n})}', `of.isNotOwn(),\n})${ANY_LEASE}}`)],
    seconds: 12,
    rate: CROWDED,
  },
  'reschedules-what-runs': {
    about: 'moves a delay while an attempt holds its lease',
    patches: [patch(RESCHEDULE, 'of.isNotOwn(TO),\n})}', `of.isNotOwn(TO),\n})${ANY_LEASE}}`)],
    seconds: 12,
    rate: CROWDED,
  },
  'replaces-what-runs': {
    about: 'rewrites a delay while an attempt holds its lease',
    patches: [
      patch(TAKEN, '...historyExtras(kept)],\n})}', `...historyExtras(kept)],\n})${ANY_LEASE}}`),
    ],
    seconds: 12,
    rate: CROWDED,
  },
  'cancels-in-words': {
    about: 'says "cancelled" and leaves the row where it is',
    patches: [
      patch(
        CANCEL,
        "  ))\n),\ngone AS (\n  DELETE FROM ${tables.delay} d USING free f WHERE ${hasIdIn('f')} RETURNING f.*",
        '  ))\n),\ngone AS (\n  SELECT f.* FROM free f',
      ),
      patch(
        CANCEL,
        'DELETE FROM ${tables.delay} WHERE id',
        'SELECT * FROM ${tables.delay} WHERE id',
      ),
      patch(
        CANCEL,
        '\n  RETURNING id, name, key, due_at, wake_at, created_at, epoch, attempts, last_error${andLogged(kept)}',
        '',
      ),
      patch(
        'core/store/tables/functions.ts',
        "`SELECT ${cancelOneCall(tables, ['$1::text', '$2::text', '$3::text'])} AS answer WHERE $1::text IS NOT NULL`",
        `\`SELECT (
          SELECT d.id::text || ' ' || (date_part('epoch', d.due_at) * 1e3)::bigint::text FROM \${tables.delay} d
          WHERE d.name = $1::text AND d.key = $2::text AND d.leased_by IS NULL AND $3::text <> '') AS answer\``,
      ),
    ],
    seconds: 10,
  },
  'aborts-in-words': {
    about: 'says "cancelled" of what runs as soon as its attempt was told to end',
    patches: [
      patch(
        CANCELS,
        'if (abortWithinMs === undefined) return await this.#cancel(target, transaction);\n    const giveUpAtMs = performance.now() + abortWithinMs;',
        'if (abortWithinMs === undefined) return await this.#cancel(target, transaction);\n    const giveUpAtMs = performance.now() + 1;',
      ),
      patch(
        CANCELS,
        'return result as CancelResult;',
        "return result?.verdict === 'running' ? { ...result, verdict: 'cancelled' } : (result as CancelResult);",
      ),
    ],
    seconds: 12,
    rate: CROWDED,
  },
  'reschedules-in-words': {
    about: 'writes the new due time and leaves the old wake',
    patches: [
      patch(
        RESCHEDULE,
        "wake_at = GREATEST(t.due, ${wholeMs('clock.now')})",
        'wake_at = d.wake_at',
      ),
    ],
    seconds: 12,
  },
  'keeps-in-words': {
    about: 'says "kept" and rewrites the row',
    patches: [
      patch(TAKEN, "WHEN 'replace' THEN true", "WHEN 'replace' THEN true WHEN 'keep' THEN true"),
      patch(
        TAKEN,
        "WHEN p.ord IS NOT NULL THEN 'replaced'",
        "WHEN p.ord IS NOT NULL AND i.on_conflict = 'replace' THEN 'replaced'",
      ),
    ],
    seconds: 12,
  },
  'answers-before-it-writes': {
    about: 'says "scheduled" a little before COMMIT',
    patches: [
      // All of them over the application's pool, where the next cut is.
      patch(
        OUTSIDE,
        'const rows = await this.engine.callers?.tryQuery<Row>(sql, parameters);',
        `const rows = ${IS_PLACE} ? undefined : await this.engine.callers?.tryQuery<Row>(sql, parameters);`,
      ),
      patch(
        OUTSIDE,
        '  /** @param explained says of an error',
        `  async #writeLater(sql, parameters) {
    const runner = this.dataSource.createQueryRunner();
    try {
      await runner.startTransaction();
      const rows = await runner.query(sql, parameters);
      setTimeout(() => {
        const committed = runner.commitTransaction().catch(() => {});
        void committed.then(() => runner.release()).catch(() => {});
      }, 700);
      return rows;
    } catch (error) {
      await runner.release();
      throw error;
    }
  }

  /** @param explained says of an error`,
      ),
      patch(
        OUTSIDE,
        '    limitMs = this.limitMs,\n  ): Promise<Row[]> {\n',
        `    limitMs = this.limitMs,\n  ): Promise<Row[]> {\n    if (${IS_PLACE}) return this.#writeLater(sql, parameters);\n`,
      ),
    ],
    seconds: 20,
    faults: ['kill', 'terminate', 'cut'],
  },
  'writes-again-when-in-doubt': {
    about: 'repeats a transaction whose COMMIT was not answered',
    patches: [
      {
        file: CLIENT,
        from: 'await this.dataSource.transaction(',
        to: 'await again(this.dataSource, ',
      },
      {
        file: CLIENT,
        from: 'class ChangedItsMind extends Error {}\n',
        // What the server itself refused has an SQLSTATE; a broken connection is merely reported.
        to: `class ChangedItsMind extends Error {}

const again = (source, work) =>
  source.transaction(work).catch((error) => {
    if (!/terminated|closed|reset/i.test(String(error))) throw error;
    return source.transaction(work);
  });
`,
      },
    ],
    seconds: 25,
    faults: ['commit-unanswered'],
  },
  'commits-asynchronously': {
    about: 'acknowledges what is not on the disk yet',
    patches: [
      {
        file: 'test/chaos/processes/main.ts',
        from: "const setup = JSON.parse(process.env['CHAOS_PROCESS']",
        to: `process.env['PGOPTIONS'] = '-c synchronous_commit=off';
const setup = JSON.parse(process.env['CHAOS_PROCESS']`,
      },
    ],
    seconds: 25,
    faults: ['crash'],
  },
  'schedules-outside-the-transaction': {
    about: "writes a delay on a connection of its own instead of in the caller's transaction",
    patches: [
      patch(
        'core/transactions/transactions.ts',
        'return await source.query<Row[]>(sql, parameters);',
        `const isPlace = /INSERT INTO "delay_queue".delay|schedule_one/.test(sql);
      const isAside = isPlace && source.queryRunner?.isTransactionActive;
      return await (isAside ? source.queryRunner.dataSource : source).query<Row[]>(sql, parameters);`,
      ),
    ],
    seconds: 12,
  },
} satisfies Record<string, ChaosMutant>;
