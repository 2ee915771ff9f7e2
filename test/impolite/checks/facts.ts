import type { Client } from 'pg';
import type { AttemptEvent } from 'nestjs-delay-queue';
import {
  type Change,
  CHANGES_SQL,
  HISTORY_SQL,
  type HistoryRow,
  KEPT_SQL,
  LEDGER_SQL,
  type LedgerRow,
  type Row,
  STATUS_SQL,
} from '../journal.js';
import { isUndone, type Record, type Scope, type Transaction } from '../record.js';

/** Everything there is to judge by: what was told, and what Postgres says of it. */
export interface Facts {
  record: Record;
  /** What was told to be done before anybody looked. */
  completed: readonly AttemptEvent[];
  changes: readonly Change[];
  ledger: readonly LedgerRow[];
  history: readonly HistoryRow[];
  /** What is left in the table, when it is quiet. */
  rows: readonly Row[];
  /** Payloads that are kept until their key has run, by their tokens. */
  kept: ReadonlySet<string>;
  isCommitted: (xid: string | undefined) => boolean;
  /** Whether what was done in that part of a transaction stands. */
  stands: (transaction: Transaction, scope: Scope | undefined) => boolean;
}

export async function factsOf(record: Record, client: Client, rows: Row[]): Promise<Facts> {
  for (;;) {
    const completed = [...record.completed];
    const before = await committedOf(record, client);
    const { rows: changes } = await client.query<Change>(CHANGES_SQL);
    const { rows: ledger } = await client.query<LedgerRow>(LEDGER_SQL);
    const { rows: history } = await client.query<HistoryRow>(HISTORY_SQL);
    const { rows: kept } = await client.query<{ token: string }>(KEPT_SQL);
    const committed = await committedOf(record, client);
    // What was far when all was quiet may be due by now: its commit came between two looks.
    if (committed.size !== before.size) continue;
    const isCommitted = (xid: string | undefined): boolean =>
      xid !== undefined && committed.has(xid);
    return {
      record,
      completed,
      changes,
      ledger,
      history,
      rows,
      kept: new Set(kept.map(({ token }) => token)),
      isCommitted,
      stands: ({ xid }, scope) => isCommitted(xid) && !isUndone(scope),
    };
  }
}

async function committedOf(record: Record, client: Client): Promise<ReadonlySet<string>> {
  const xids = new Set([
    ...record.transactions.map(({ xid }) => xid),
    ...record.writes.map(({ xid }) => xid),
  ]);
  xids.delete(undefined);
  const { rows } = await client.query<{ xid: string; status: string }>(STATUS_SQL, [[...xids]]);
  return new Set(rows.filter(({ status }) => status === 'committed').map(({ xid }) => xid));
}

export type Check = (facts: Facts) => Iterable<string>;
