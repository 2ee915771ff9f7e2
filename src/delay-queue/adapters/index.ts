import { DelayInvalidError, type DelayTransaction } from '../core/index.js';

/*
 * An open transaction of another library as `tx` of a call. Nothing of the library is imported: each
 * function takes what its transaction gives. What a call with `tx` does is in docs/orms.md.
 */

type Rows = PromiseLike<readonly object[]>;

/** `tx` of `prisma.$transaction(async (tx) => …)`, Prisma. */
export const fromPrisma = (tx: {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}): DelayTransaction => ({
  query: (text, values) => tx.$queryRawUnsafe(text, ...values) as Rows,
  transaction: tx,
});

/** `tx` of `db.transaction(async (tx) => …)`, Drizzle on `pg` or `postgres`. */
export const fromDrizzle = (tx: {
  execute(query: never): PromiseLike<unknown>;
}): DelayTransaction => ({
  query: (text, values) => {
    // What `sql` of drizzle-orm makes: it has no call for a text with values.
    const query = { getSQL: () => ({ toQuery: () => ({ sql: text, params: values }) }) };
    return tx.execute(query as never) as Rows;
  },
  transaction: tx,
});

/** `trx` of `db.transaction().execute(async (trx) => …)`, Kysely. */
export const fromKysely = (trx: {
  withoutPlugins(): { executeQuery(query: never): PromiseLike<{ rows: readonly unknown[] }> };
}): DelayTransaction => ({
  query: (text, values) => {
    const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
    const compiled = { sql: text, parameters: values, query, queryId: { queryId: 'delay' } };
    return trx.withoutPlugins().executeQuery(compiled as never) as PromiseLike<{
      rows: readonly object[];
    }>;
  },
  transaction: trx,
});

/** `trx` of `knex.transaction(async (trx) => …)`, Knex and Objection. */
export const fromKnex = (trx: {
  raw(text: string, values: readonly (string | null)[]): PromiseLike<unknown>;
}): DelayTransaction => ({
  query: (text, values) =>
    // Knex would send `$1` unbound. Each stands once, in order.
    trx.raw(text.replaceAll('?', '\\?').replaceAll(/\$\d+/g, '?'), values) as Rows,
  transaction: trx,
});

/**
 * `em` of `em.transactional(async (em) => …)`, MikroORM. Your entities are
 * written at the flush: call `em.flush()` first if a statement must see them.
 * @throws DelayInvalidError without a transaction
 */
export function fromMikroOrm(em: { getTransactionContext(): unknown }): DelayTransaction {
  const context = em.getTransactionContext();
  if (typeof context !== 'object' && typeof context !== 'function') {
    throw new DelayInvalidError('tx', 'the EntityManager of MikroORM is in no transaction');
  }
  const isKnex = context !== null && 'raw' in context && typeof context.raw === 'function';
  return isKnex ? fromKnex(context as never) : fromKysely(context as never);
}

/** The transaction of `sequelize.transaction(async (transaction) => …)`, Sequelize. */
export const fromSequelize = (
  sequelize: { query(text: string, options: never): PromiseLike<unknown> },
  transaction: object,
): DelayTransaction => ({
  query: (text, values) =>
    sequelize.query(text, {
      bind: values,
      transaction,
      type: 'SELECT',
      raw: true,
    } as never) as Rows,
  transaction,
});

/** `sql` of `sql.begin(async (sql) => …)`, postgres.js. */
export const fromPostgresJs = (sql: {
  unsafe(text: string, values: never): PromiseLike<unknown>;
}): DelayTransaction => ({
  query: (text, values) => sql.unsafe(text, values as never) as Rows,
  transaction: sql,
});

/** `t` of `db.tx(async (t) => …)`, pg-promise. */
export const fromPgPromise = (t: {
  any(query: never): PromiseLike<unknown>;
}): DelayTransaction => ({
  query: (text, values) => t.any({ text, values } as never) as Rows,
  transaction: t,
});

/** `t` of `pool.transaction(async (t) => …)`, Slonik. */
export const fromSlonik = (t: {
  query(query: never): PromiseLike<{ rows: readonly unknown[] }>;
}): DelayTransaction => ({
  query: (text, values) => {
    const parser = {
      '~standard': {
        version: 1,
        vendor: 'nestjs-delay-queue',
        validate: (value: unknown) => ({ value }),
      },
    };
    const query = { type: 'SLONIK_TOKEN_QUERY', sql: text, values, parser };
    return t.query(query as never) as PromiseLike<{ rows: readonly object[] }>;
  },
  transaction: t,
});
