import { expect, it } from '@jest/globals';
import type { DelayService, DelayTransaction, InTransaction } from 'nestjs-delay-queue';
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
import type { Client, PoolClient } from 'pg';
import { fits, same } from '../../support/same-type.js';

// The real transactions of the libraries are in test/orms.
async function calls(delays: DelayService, client: Client, lent: PoolClient) {
  await delays.schedule('test.a', { n: 1 }, { after: 1, tx: client });
  await delays.cancel('test.a', 'k', { tx: lent });
  await delays.find('test.a', 'k', { tx: { query: async () => [{}] } });
  same<InTransaction['tx'], DelayTransaction | undefined>(true);
  const rows = async () => [{}];
  const made = [
    fromPrisma({ $queryRawUnsafe: rows }),
    fromDrizzle({ execute: rows }),
    fromKysely({ withoutPlugins: () => ({ executeQuery: async () => ({ rows: [] }) }) }),
    fromKnex({ raw: rows }),
    fromMikroOrm({ getTransactionContext: () => ({ raw: rows }) }),
    fromSequelize({ query: rows }, {}),
    fromPostgresJs({ unsafe: rows }),
    fromPgPromise({ any: rows }),
    fromSlonik({ query: async () => ({ rows: [] }) }),
  ];
  fits<DelayTransaction[]>(made);
  // @ts-expect-error -- the client of Prisma alone has it
  fromPrisma({ query: rows });
  // @ts-expect-error -- as it has no transaction
  fromDrizzle({});
  // @ts-expect-error -- a text
  fromKysely('trx');
  // @ts-expect-error -- it is awaited first
  fromKnex(Promise.resolve({ raw: rows }));
  // @ts-expect-error -- as it is no EntityManager of MikroORM
  fromMikroOrm({ query: rows });
  // @ts-expect-error -- without its transaction
  fromSequelize({ query: rows });
  // @ts-expect-error -- it is called `sql`
  fromPostgresJs({ query: rows });
  // @ts-expect-error -- that is of Slonik
  fromPgPromise({ query: rows });
  // @ts-expect-error -- that is of pg-promise
  fromSlonik({ any: rows });
  // @ts-expect-error -- it has no statements
  fits<DelayTransaction>({ transaction: {} });
}

it('takes the transactions of other libraries', () => {
  expect(calls).toBeInstanceOf(Function);
});
