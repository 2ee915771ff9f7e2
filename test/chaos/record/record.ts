import type { QueryResultRow } from 'pg';

/** Runs one statement on the database of the run, past every proxy, and answers its rows. */
export type Sql = <Row extends QueryResultRow>(
  text: string,
  parameters?: unknown[],
) => Promise<Row[]>;

/**
 * Installs what a chaos run is judged by, in a schema of its own: a trigger that writes every change
 * of `delay_queue.delay` down, and the tables of effects, calls, faults and business rows.
 *
 * Nothing in it has a key that could refuse or merge a duplicate: what happened twice must show twice.
 */
export async function installRecord(sql: Sql): Promise<void> {
  for (const statement of RECORD) await sql(statement);
}

const RECORD = [
  `CREATE SCHEMA chaos`,

  // Written by handlers, inside their transaction or on the pool. `txid` ties what a fenced handler
  // did to the very transaction that removed its row.
  `CREATE TABLE chaos.effect (
     seq      bigint GENERATED ALWAYS AS IDENTITY,
     delay_id bigint NOT NULL,
     name     text NOT NULL,
     token    text NOT NULL,
     attempt  integer NOT NULL,
     node     text NOT NULL,
     fenced   boolean NOT NULL,
     at       timestamptz NOT NULL DEFAULT clock_timestamp(),
     txid     xid8 NOT NULL DEFAULT pg_current_xact_id()
   )`,

  // What the clients have seen, loaded from their files after the run. An `id` is a delay's, or for
  // the shop an order's.
  `CREATE TABLE chaos.client (
     call           text NOT NULL,
     verb           text NOT NULL,
     name           text NOT NULL,
     key            text,
     token          text,
     in_transaction boolean NOT NULL,
     outcome        text NOT NULL CHECK (outcome IN ('ok', 'fail', 'unknown')),
     verdict        text,
     id             text,
     due_at         timestamptz,
     error          text
   )`,

  // The same of what recurs: which instant was run.
  `CREATE TABLE chaos.tick (
     delay_id bigint NOT NULL,
     name     text NOT NULL,
     due_at   timestamptz NOT NULL,
     node     text NOT NULL,
     at       timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,

  // Each when it was over.
  `CREATE TABLE chaos.fault (kind text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`,

  // What a caller's transaction writes beside the delay of the same token.
  `CREATE TABLE chaos.business (token text NOT NULL)`,

  // Noted as its transaction commits; `until` is null where it ends.
  `CREATE TABLE chaos.pause (
     seq      bigint GENERATED ALWAYS AS IDENTITY,
     name     text NOT NULL,
     group_id text NOT NULL,
     until    timestamptz,
     at       timestamptz NOT NULL DEFAULT clock_timestamp()
   )`,
  `CREATE FUNCTION chaos.note_pause() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO chaos.pause (name, group_id, until)
     VALUES (COALESCE(NEW.name, OLD.name), COALESCE(NEW.group_id, OLD.group_id), NEW.until);
     RETURN NULL;
   END $$`,
  `CREATE CONSTRAINT TRIGGER chaos_pause AFTER INSERT OR UPDATE OR DELETE ON delay_queue.pause
     DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chaos.note_pause()`,

  // Revisions order the life of one row without comparing clocks. The primary key serves the trigger:
  // one look at an index for each write.
  `CREATE TABLE chaos.transition (
     delay_id  bigint NOT NULL,
     revision  integer NOT NULL,
     op        text NOT NULL,
     -- The engine's own sessions say which node they belong to; an application's have another name.
     session   text NOT NULL DEFAULT current_setting('application_name'),
     at        timestamptz NOT NULL DEFAULT clock_timestamp(),
     txid      xid8 NOT NULL DEFAULT pg_current_xact_id(),
     old       delay_queue.delay,
     new       delay_queue.delay,
     -- Of an attempt that is taken over: its process still held its lock, and had for a while.
     lock_lives boolean,
     PRIMARY KEY (delay_id, revision)
   )`,

  // The row's lock is held: nobody else writes a revision of it.
  `CREATE FUNCTION chaos.note_transition() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     row_id bigint := COALESCE(NEW.id, OLD.id);
     lives boolean;
   BEGIN
     IF TG_OP = 'UPDATE' AND OLD.lease_lock IS NOT NULL AND NEW.leased_by IS NOT NULL AND NEW.epoch > OLD.epoch THEN
       lives := EXISTS (
         SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
         WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND l.classid::bigint << 32 | l.objid::bigint = OLD.lease_lock
           -- A session that is as young may have taken it after the claim had looked.
           AND a.backend_start < statement_timestamp() - interval '1 second');
     END IF;
     INSERT INTO chaos.transition (delay_id, revision, op, old, new, lock_lives) VALUES (
       row_id,
       1 + COALESCE((SELECT max(t.revision) FROM chaos.transition t WHERE t.delay_id = row_id), 0),
       lower(TG_OP), OLD, NEW, lives);
     RETURN NULL;
   END $$`,

  `CREATE TRIGGER chaos_transition AFTER INSERT OR UPDATE OR DELETE ON delay_queue.delay
     FOR EACH ROW EXECUTE FUNCTION chaos.note_transition()`,
];
