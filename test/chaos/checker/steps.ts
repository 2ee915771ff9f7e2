import { OF_LOAD } from './invariant.js';

const ROW = 'due_at wake_at leased_until leased_by epoch attempts max_attempts created_at'
  .split(' ')
  .map((name) => `(old).${name} AS was_${name}, (new).${name}`)
  .join(', ');

/**
 * The derived tables that all invariants read, in the schema of the record:
 *
 * - `chaos.step`: every transition with a name for what it was. The name says what it looks like; whether
 *   it was allowed, and written as it should be, is for the invariants to say.
 * - `chaos.life`: from the write that brought a token into a row to the one that ended it. A row can
 *   host several, one after the other: replaced by a client, or moved on by its own handler.
 */
export const DERIVED: readonly string[] = [
  `DROP TABLE IF EXISTS chaos.step, chaos.life`,

  // Not in the record itself: a handler of the run need not pay for them.
  `CREATE INDEX IF NOT EXISTS effect_delay ON chaos.effect (delay_id)`,
  `CREATE INDEX IF NOT EXISTS effect_token ON chaos.effect (token)`,
  `CREATE INDEX IF NOT EXISTS client_token ON chaos.client (token)`,
  `CREATE INDEX IF NOT EXISTS client_key ON chaos.client (name, key)`,
  `CREATE INDEX IF NOT EXISTS business_token ON chaos.business (token)`,

  // A line of history belongs to the write that ended that epoch. With `ends` the checks see when
  // there are two of them.
  `CREATE TABLE chaos.step AS
   WITH ended AS (
     SELECT id AS delay_id, epoch, count(*)::int AS ends, min(state) AS ended, min(node) AS ended_node
     FROM delay_queue.history GROUP BY id, epoch
   ),
   flat AS (
     SELECT delay_id, revision, op, session, at, txid, lock_lives, ${ROW},
            COALESCE((new).name, (old).name) AS name, COALESCE((new).key, (old).key) AS key,
            (new).group_id, (old).lease_lock AS was_lock, (new).lease_lock AS lock,
            (old).payload->>'token' AS was_token, (new).payload->>'token' AS token,
            (old).last_error AS was_error, (new).last_error AS error,
            (new).payload->>'parent' AS parent,
            CASE WHEN (new).name ${OF_LOAD} THEN ((new).payload->>'left')::int END AS remaining
     FROM chaos.transition
     -- What recurs is declared by nodes, and never ends: the twelfth looks at that.
     WHERE COALESCE((new).repeat, (old).repeat) IS NULL
   ),
   told AS (
     SELECT t.*, e.ends, e.ended, e.ended_node,
            session LIKE 'delay-queue %' AS by_engine,
            -- Postgres cuts an application's name after 63 bytes.
            session = left('delay-queue ' || was_leased_by, 63) AS by_owner,
            COALESCE(was_leased_until > at, false) AS was_live,
            -- A process that is gone leaves its transactional attempts to others.
            was_lock IS NOT NULL AND was_lock IS DISTINCT FROM lock AS is_taken_over,
            COALESCE(was_wake_at = 'infinity', false) AS was_dead
     FROM flat t
     LEFT JOIN ended e ON e.delay_id = t.delay_id AND e.epoch = t.was_epoch
       -- A renewal leaves the epoch as it was, and ends nothing.
       AND (t.op = 'delete' OR t.epoch <> t.was_epoch)
   ),
   named AS (
     SELECT told.*,
       CASE
         WHEN op = 'insert' THEN 'schedule'
         WHEN op = 'delete' THEN CASE ended WHEN 'completed' THEN 'complete'
                                            WHEN 'cancelled' THEN 'cancel'
                                            WHEN 'discarded' THEN 'discard'
                                            ELSE 'vanish' END
         WHEN leased_by IS NOT NULL THEN
           CASE WHEN leased_by = was_leased_by AND epoch = was_epoch AND attempts = was_attempts
                THEN 'renew' ELSE 'claim' END
         WHEN ended = 'superseded' THEN 'move on'
         WHEN ended = 'discarded' THEN 'revive'
         WHEN wake_at = 'infinity' THEN 'bury'
         WHEN was_dead THEN 'retry dead'
         WHEN by_engine THEN 'settle'
         WHEN created_at <> was_created_at THEN 'replace'
         ELSE 'reschedule'
       END AS kind
     FROM told
   )
   SELECT named.*,
          kind IN ('schedule', 'replace', 'revive', 'move on') AS begins,
          count(*) FILTER (WHERE kind IN ('schedule', 'replace', 'revive', 'move on'))
            OVER (PARTITION BY delay_id ORDER BY revision)::int
            AS life
   FROM named`,
  `ALTER TABLE chaos.step ADD PRIMARY KEY (delay_id, revision)`,
  `CREATE INDEX ON chaos.step (kind, delay_id)`,

  `CREATE TABLE chaos.life AS
   WITH spans AS (
     SELECT s.delay_id, s.life, min(s.name) AS name,
            min(s.token) FILTER (WHERE s.begins) AS token,
            min(s.parent) FILTER (WHERE s.begins) AS parent,
            min(s.remaining) FILTER (WHERE s.begins) AS remaining,
            min(s.kind) FILTER (WHERE s.begins) AS begun,
            min(s.due_at) FILTER (WHERE s.begins) AS due_at,
            min(s.txid::text) FILTER (WHERE s.begins)::xid8 AS begun_txid,
            max(s.revision) AS to_revision,
            count(*) FILTER (WHERE s.kind = 'claim')::int AS claims
     FROM chaos.step s GROUP BY s.delay_id, s.life
   )
   SELECT p.*,
          -- The step that ended it: its own last one when that removed the row, else the first of
          -- the next life.
          e.revision AS end_revision, e.at AS ended_at, e.txid AS end_txid,
          CASE
            WHEN e.kind = 'complete' THEN 'completed'
            WHEN e.kind = 'cancel' THEN 'cancelled'
            WHEN e.kind IN ('discard', 'revive') THEN 'discarded'
            WHEN e.kind = 'replace' THEN 'replaced'
            WHEN e.kind = 'move on' THEN 'moved on'
            WHEN e.kind = 'vanish' THEN 'vanished'
            WHEN l.wake_at = 'infinity' THEN 'dead'
            ELSE 'waiting'
          END AS ended
   FROM spans p
   JOIN chaos.step l ON l.delay_id = p.delay_id AND l.revision = p.to_revision
   LEFT JOIN chaos.step e
     ON e.delay_id = p.delay_id
    AND e.revision = CASE WHEN l.op = 'delete' THEN p.to_revision ELSE p.to_revision + 1 END`,
  `CREATE INDEX ON chaos.life (token)`,
  `CREATE INDEX ON chaos.life (parent)`,
  `CREATE INDEX ON chaos.life (delay_id, life)`,
  ...['step', 'life', 'effect', 'client', 'business'].map((table) => `ANALYZE chaos.${table}`),
];
