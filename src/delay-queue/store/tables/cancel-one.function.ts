import { functionOf, type Tables, wholeEpochMs } from './schema.js';

/** A function of the schema that cancels one delay. A later version of it gets another name: nodes of this one still call it. */
const CANCEL_ONE = 'cancel_one';

export const cancelOneSignature = (tables: Tables): string =>
  `${functionOf(tables, CANCEL_ONE)}(text, text, text)`;

/** As `cancelWaiting`, of one delay, in a caller's transaction: see `schedule-one`. */
export const createCancelOne = (tables: Tables): string => `
CREATE OR REPLACE FUNCTION ${functionOf(tables, CANCEL_ONE)}(
  _name text, _key text, _history text, OUT id text, OUT due_ms text
) RETURNS SETOF record LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
DECLARE
  _gone ${tables.delay};
BEGIN
  DELETE FROM ${tables.delay} d
  WHERE d.id = (SELECT f.id FROM ${tables.delay} f
                WHERE f.name = _name AND f.key = _key AND f.leased_by IS NULL
                  AND NOT EXISTS (SELECT FROM ${tables.rerun} r WHERE r.name = _name AND r.key = _key)
                FOR UPDATE SKIP LOCKED)
  RETURNING d.* INTO _gone;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF _history <> 'nothing' THEN
    INSERT INTO ${tables.history} (id, ended_at, due_at, created_at, epoch, attempts, state, name, key, error,
      group_id, headers, move_log, attempt_log)
    VALUES (_gone.id, ${tables.now}, _gone.due_at, _gone.created_at, _gone.epoch, _gone.attempts,
            CASE WHEN _gone.wake_at = 'infinity' THEN 'discarded' ELSE 'cancelled' END, _gone.name, _gone.key,
            _gone.last_error, _gone.group_id, _gone.headers, _gone.move_log,
            CASE WHEN _history = 'attempts' THEN _gone.attempt_log END);
  END IF;
  id := _gone.id::text;
  due_ms := ${wholeEpochMs('_gone.due_at')}::text;
  RETURN NEXT;
END $function$`;

/**
 * Removes the delay of (name, key) if it waits, and no session holds it. Parameters: name, key, what history keeps. Answers
 * no row when there was none.
 */
export const cancelOneSql = (tables: Tables): string =>
  `SELECT id, due_ms FROM ${functionOf(tables, CANCEL_ONE)}($1::text, $2::text, $3::text)`;
