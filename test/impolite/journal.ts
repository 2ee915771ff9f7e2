/**
 * What Postgres itself knows of a program: each change of a delay with the transaction that made it,
 * and rows of callers with theirs. No key could refuse or merge a duplicate.
 */
export const JOURNAL: readonly string[] = [
  `CREATE SCHEMA impolite`,
  `CREATE TABLE impolite.ledger (
     token text NOT NULL,
     writer text NOT NULL,
     xid   text NOT NULL DEFAULT pg_current_xact_id()::text
   )`,
  `CREATE TABLE impolite.change (
     seq       bigint GENERATED ALWAYS AS IDENTITY,
     xid       text NOT NULL DEFAULT pg_current_xact_id()::text,
     op        text NOT NULL,
     id        text NOT NULL,
     name      text NOT NULL,
     key       text,
     epoch     text NOT NULL,
     leased_by text,
     due_ms    text NOT NULL,
     token     text,
     was_token text
   )`,
  `CREATE FUNCTION impolite.note_change() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE r delay_queue.delay := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
   BEGIN
     INSERT INTO impolite.change (op, id, name, key, epoch, leased_by, due_ms, token, was_token)
     VALUES (lower(TG_OP), r.id, r.name, r.key, r.epoch, r.leased_by,
             round(extract(epoch FROM r.due_at) * 1000)::bigint, r.payload->>'token',
             CASE WHEN TG_OP <> 'INSERT' THEN OLD.payload->>'token' END);
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON delay_queue.delay
     FOR EACH ROW EXECUTE FUNCTION impolite.note_change()`,
];

/** The transaction that runs it. */
export const XID_SQL = `SELECT pg_current_xact_id()::text AS xid`;

/** The writer and the token are parameters; answers the transaction that it landed in. */
export const WRITE_SQL = `INSERT INTO impolite.ledger (token, writer) VALUES ($1, $2) RETURNING xid`;

/** A statement that Postgres refuses, whatever state it finds. */
export const REFUSED_SQL = `SELECT 1 / 0`;

export interface Change {
  xid: string;
  op: 'insert' | 'update' | 'delete';
  id: string;
  name: string;
  key: string | null;
  epoch: string;
  leased_by: string | null;
  due_ms: string;
  token: string | null;
  was_token: string | null;
}

export interface LedgerRow {
  token: string;
  writer: string;
  xid: string;
}

/** A delay that is in the table still. */
export interface Row {
  id: string;
  name: string;
  key: string | null;
  epoch: string;
  attempts: string;
  token: string | null;
  /** How long it has been due, without regard to a lease; negative for the future, null for the dead. */
  overdue_ms: string | null;
  /** How long its lease goes on; null without one. */
  leased_ms: string | null;
}

export const CHANGES_SQL = `SELECT xid, op, id, name, key, epoch, leased_by, due_ms, token, was_token
  FROM impolite.change ORDER BY seq`;

/** What keys that run are to run once more with. */
export const KEPT_SQL = `SELECT payload->>'token' AS token FROM delay_queue.rerun`;

export const LEDGER_SQL = `SELECT token, writer, xid FROM impolite.ledger`;

export const ROWS_SQL = `SELECT id::text, name, key, epoch::text, attempts::text, payload->>'token' AS token,
    CASE WHEN wake_at < 'infinity'
         THEN round(extract(epoch FROM clock_timestamp() - wake_at) * 1000)::text END AS overdue_ms,
    round(extract(epoch FROM leased_until - clock_timestamp()) * 1000)::text AS leased_ms
  FROM delay_queue.delay ORDER BY id`;

/** Of each transaction: `committed`, `aborted` or `in progress`. */
export const STATUS_SQL = `SELECT xid, pg_xact_status(xid::xid8) AS status FROM unnest($1::text[]) AS xid`;

export const HISTORY_SQL = `SELECT id::text, name, state, attempts::text FROM delay_queue.history`;

export interface HistoryRow {
  id: string;
  name: string;
  state: string;
  attempts: string;
}
