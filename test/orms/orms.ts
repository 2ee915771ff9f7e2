import type { PoolClient } from 'pg';
import type { ITask } from 'pg-promise';
import type { DelayTransaction } from 'nestjs-delay-queue';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPgPromise,
  fromPostgresJs,
  fromPrisma,
  fromSequelize,
  fromSlonik,
} from 'nestjs-delay-queue/adapters';

/** A transaction of a library, and its own statement for one order. */
export interface Transaction {
  tx: DelayTransaction;
  /** By the library itself, in that transaction. */
  insert(id: number): Promise<unknown>;
  /** A savepoint; undefined where the library has none. */
  nested: (<T>(work: (inner: Transaction) => Promise<T>) => Promise<T>) | undefined;
}

/** One library, connected to a database that has the table `purchases (id int primary key)`. */
export interface Orm {
  transaction<T>(work: (its: Transaction) => Promise<T>): Promise<T>;
  /** What someone gives by mistake: statements run on any connection of the pool. */
  pool(): DelayTransaction;
  close(): Promise<unknown>;
}

const INSERT = 'INSERT INTO purchases VALUES ($1)';

async function pg(url: string): Promise<Orm> {
  const { Pool } = (await import('pg')).default;
  const pool = new Pool({ connectionString: url });
  const its = (client: PoolClient): Transaction => ({
    tx: client,
    insert: (id) => client.query(INSERT, [id]),
    nested: async (work) => {
      await client.query('SAVEPOINT s');
      try {
        return await work(its(client));
      } catch (error) {
        await client.query('ROLLBACK TO s');
        throw error;
      }
    },
  });
  return {
    transaction: async (work) => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const result = await work(its(client));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    pool: () => pool,
    close: () => pool.end(),
  };
}

async function prisma(url: string): Promise<Orm> {
  const { PrismaPg } = await import('@prisma/adapter-pg');
  const { PrismaClient } = await import('./generated/client.js');
  const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  type Tx = Parameters<Parameters<typeof client.$transaction>[0]>[0];
  const its = (tx: Tx): Transaction => ({
    tx: fromPrisma(tx),
    insert: (id) => tx.purchases.create({ data: { id } }),
    nested: (work) => (tx as typeof client).$transaction((inner: Tx) => work(its(inner))),
  });
  return {
    transaction: (work) => client.$transaction((tx: Tx) => work(its(tx))),
    pool: () => fromPrisma(client),
    close: () => client.$disconnect(),
  };
}

/** @param on its driver */
const drizzle =
  (on: 'node-postgres' | 'postgres-js') =>
  async (url: string): Promise<Orm> => {
    const { drizzle: connect } = (await import(
      `drizzle-orm/${on}`
    )) as typeof import('drizzle-orm/node-postgres');
    const { sql } = await import('drizzle-orm');
    const db = connect(url);
    type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];
    const its = (tx: Tx): Transaction => ({
      tx: fromDrizzle(tx),
      insert: (id) => tx.execute(sql`INSERT INTO purchases VALUES (${id})`),
      nested: (work) => tx.transaction((inner) => work(its(inner))),
    });
    return {
      transaction: (work) => db.transaction((tx) => work(its(tx))),
      pool: () => fromDrizzle(db),
      close: () => db.$client.end(),
    };
  };

async function kysely(url: string): Promise<Orm> {
  const { CamelCasePlugin, Kysely, PostgresDialect } = await import('kysely');
  const { Pool } = (await import('pg')).default;
  const db = new Kysely<{ purchases: { id: number } }>({
    dialect: new PostgresDialect({ pool: new Pool({ connectionString: url }) }),
    // It would name our columns anew.
    plugins: [new CamelCasePlugin()],
  });
  return {
    transaction: (work) =>
      db.transaction().execute((trx) =>
        work({
          tx: fromKysely(trx),
          insert: (id) => trx.insertInto('purchases').values({ id }).execute(),
          nested: undefined,
        }),
      ),
    pool: () => fromKysely(db),
    close: () => db.destroy(),
  };
}

async function knex(url: string): Promise<Orm> {
  const { default: make } = await import('knex');
  const camel = (name: string): string =>
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const db = make({
    client: 'pg',
    connection: url,
    // As in the documentation of Knex.
    postProcessResponse: (result: { rows?: Record<string, unknown>[] }) => {
      if (!Array.isArray(result?.rows)) return result;
      const rows = result.rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [camel(name), value])),
      );
      return { ...result, rows };
    },
  });
  type Trx = Parameters<Parameters<typeof db.transaction>[0]>[0];
  const its = (trx: Trx): Transaction => ({
    tx: fromKnex(trx),
    insert: async (id) => await trx('purchases').insert({ id }),
    nested: (work) => trx.transaction((inner) => work(its(inner))),
  });
  return {
    transaction: (work) => db.transaction((trx) => work(its(trx))),
    pool: () => fromKnex(db),
    close: () => db.destroy(),
  };
}

async function objection(url: string): Promise<Orm> {
  const { default: make } = await import('knex');
  const { Model } = (await import('objection')).default;
  const db = make({ client: 'pg', connection: url });
  class Order extends Model {
    static override tableName = 'purchases';
  }
  const bound = Order.bindKnex(db);
  type Trx = Parameters<Parameters<typeof db.transaction>[0]>[0];
  const its = (trx: Trx): Transaction => ({
    tx: fromKnex(trx),
    insert: async (id) => await bound.query(trx).insert({ id } as never),
    nested: (work) => trx.transaction((inner) => work(its(inner))),
  });
  return {
    transaction: (work) => bound.transaction((trx) => work(its(trx as Trx))),
    pool: () => fromKnex(db),
    close: () => db.destroy(),
  };
}

async function mikroOrm(url: string): Promise<Orm> {
  const { defineEntity, MikroORM, p } = await import('@mikro-orm/postgresql');
  const Order = defineEntity({
    name: 'Order',
    tableName: 'purchases',
    properties: { id: p.integer().primary() },
  });
  const orm = await MikroORM.init({ clientUrl: url, entities: [Order] });
  type Em = typeof orm.em;
  const its = (em: Em): Transaction => ({
    tx: fromMikroOrm(em),
    insert: async (id) => {
      em.create(Order, { id });
      await em.flush();
    },
    nested: (work) => em.transactional((inner) => work(its(inner as Em))),
  });
  return {
    transaction: (work) => orm.em.fork().transactional((em) => work(its(em as Em))),
    pool: () => fromMikroOrm(orm.em.fork()),
    close: () => orm.close(),
  };
}

async function sequelize(url: string): Promise<Orm> {
  const { DataTypes, Sequelize } = (await import('sequelize')).default;
  const db = new Sequelize(url, { logging: false });
  const Order = db.define(
    'Order',
    { id: { type: DataTypes.INTEGER, primaryKey: true } },
    { tableName: 'purchases', timestamps: false },
  );
  type Tx = Awaited<ReturnType<typeof db.transaction>>;
  const its = (transaction: Tx): Transaction => ({
    tx: fromSequelize(db, transaction),
    insert: (id) => Order.create({ id }, { transaction }),
    nested: (work) => db.transaction({ transaction }, (inner) => work(its(inner))),
  });
  return {
    transaction: (work) => db.transaction((transaction) => work(its(transaction))),
    pool: () => fromSequelize(db, undefined as never),
    close: () => db.close(),
  };
}

async function postgresJs(url: string): Promise<Orm> {
  const { default: postgres } = await import('postgres');
  // Its transform would name our columns anew.
  const db = postgres(url, { transform: postgres.camel });
  type Sql = Parameters<Parameters<typeof db.begin>[1]>[0];
  const its = (sql: Sql): Transaction => ({
    tx: fromPostgresJs(sql),
    insert: (id) => sql`INSERT INTO purchases VALUES (${id})`,
    nested: (work) => sql.savepoint((inner) => work(its(inner as Sql))) as never,
  });
  return {
    transaction: (work) => db.begin((sql) => work(its(sql))) as never,
    pool: () => fromPostgresJs(db),
    close: () => db.end(),
  };
}

async function pgPromise(url: string): Promise<Orm> {
  const { default: make } = await import('pg-promise');
  const pgp = make();
  const db = pgp(url);
  type Task = ITask<object>;
  const its = (t: Task): Transaction => ({
    tx: fromPgPromise(t),
    insert: (id) => t.none(INSERT, [id]),
    nested: (work) => t.tx((inner: Task) => work(its(inner))),
  });
  return {
    transaction: (work) => db.tx((t: Task) => work(its(t))),
    pool: () => fromPgPromise(db),
    close: () => db.$pool.end(),
  };
}

async function slonik(url: string): Promise<Orm> {
  const { createPool, sql } = await import('slonik');
  const pool = await createPool(url);
  type Task = Parameters<Parameters<typeof pool.transaction>[0]>[0];
  const its = (t: Task): Transaction => ({
    tx: fromSlonik(t),
    insert: (id) => t.query(sql.unsafe`INSERT INTO purchases VALUES (${id})`),
    nested: (work) => t.transaction((inner) => work(its(inner as Task))),
  });
  return {
    transaction: (work) => pool.transaction((t) => work(its(t))),
    pool: () => fromSlonik(pool),
    close: () => pool.end(),
  };
}

export const ORMS: Record<string, (url: string) => Promise<Orm>> = {
  pg,
  Prisma: prisma,
  'Drizzle on pg': drizzle('node-postgres'),
  'Drizzle on postgres.js': drizzle('postgres-js'),
  Kysely: kysely,
  Knex: knex,
  Objection: objection,
  MikroORM: mikroOrm,
  Sequelize: sequelize,
  'postgres.js': postgresJs,
  'pg-promise': pgPromise,
  Slonik: slonik,
};
