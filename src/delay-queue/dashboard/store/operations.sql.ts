import {
  asNumber,
  asText,
  clock,
  keyOrNull,
  nodesNow,
  ON_PRIMARY,
  plusMs,
  presentEpochUs,
  type RowOf,
  selected,
  type Tables,
} from '../../core/ops.js';
import { asIso } from './iso.js';

/*
 * What viewers of the dashboard have changed: an operation, and the first of the delays that it has
 * changed. The process that carries it out sets `seen_at` as nodes do.
 */

/** A process that has not set `seen_at` for so long has ended. It sets it every ten seconds. */
const SILENT_MS = 60_000;

const KEPT_MS = 90 * 24 * 60 * 60 * 1_000;

/** Each new operation removes at most so many old ones, and their changes. */
const PRUNED_MAX = 10;

type OperationState = 'running' | 'stopping' | 'done' | 'stopped' | 'failed' | 'interrupted';

/** Operation `o`; needs the CTE `clock`. `order`, `scope` and `counts` are JSON. */
export const operationColumns = (tables: Tables) => ({
  id: asText('o.id::text'),
  action: asText('o.action'),
  who: asText('o.who'),
  why: asText<string | null>('o.why'),
  order: asText('o.asked::text', 'asked'),
  scope: asText('o.scope::text'),
  startedAt: asIso('o.started_at'),
  endedAt: asIso<string | null>('o.ended_at'),
  state: asText<OperationState>(
    `CASE WHEN o.ended_as IS NOT NULL THEN o.ended_as
            WHEN o.seen_at < ${plusMs(nodesNow(tables), `-${SILENT_MS}::float8`)} THEN 'interrupted'
            WHEN o.stop_asked THEN 'stopping'
            ELSE 'running' END`,
  ),
  counts: asText('o.counts::text'),
  expected: asNumber<number | null>('o.expected'),
  expectedIs: asText<'exact' | 'atLeast' | null>('o.expected_is'),
  error: asText<string | null>('o.error'),
  node: asText('o.node'),
});

export type OperationRow = RowOf<ReturnType<typeof operationColumns>>;

/**
 * Writes a new one, and removes old ones. Parameters: action, who, node, why, asked, counts, scope. Its id
 * is greater than each that it sees: a clock may stand still, or go back. Answers no row if another
 * one has taken that id meanwhile.
 */
export const openOperationSql = (tables: Tables): string => `
WITH ${clock(tables)},
old AS (
  DELETE FROM ${tables.operation} WHERE id = ANY (ARRAY(
    SELECT p.id FROM ${tables.operation} p, clock
    WHERE p.started_at < ${plusMs('clock.now', `-${KEPT_MS}::float8`)}
    ORDER BY p.id
    LIMIT ${PRUNED_MAX}
    FOR UPDATE OF p SKIP LOCKED))
  RETURNING id
),
gone AS (DELETE FROM ${tables.operationChange} WHERE operation_id = ANY (ARRAY(SELECT id FROM old))),
o AS (
  INSERT INTO ${tables.operation} (id, started_at, seen_at, action, who, node, why, asked, counts, scope)
  SELECT GREATEST(${presentEpochUs('clock.now')}, (SELECT pg_catalog.max(id) + 1 FROM ${tables.operation})),
         clock.now, ${nodesNow(tables)}, $1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::jsonb, $7::jsonb
  FROM clock
  ON CONFLICT DO NOTHING
  RETURNING *
)
SELECT ${selected(operationColumns(tables))} FROM o, clock`;

/**
 * Adds the delays that a page has changed; the same ones again change nothing. Parameters: id,
 * counts, expected, expected_is, how many are listed already, and the arrays of their ids, names,
 * keys and verdicts.
 */
export const advanceOperationSql = (tables: Tables): string => `
WITH ${clock(tables)},
added AS (
  INSERT INTO ${tables.operationChange} (operation_id, ord, delay_id, name, key, verdict)
  SELECT $1::bigint, $5::int + c.ord, c.id, c.name, ${keyOrNull('c.key')}, c.verdict
  FROM ROWS FROM (pg_catalog.unnest($6::bigint[]), pg_catalog.unnest($7::text[]), pg_catalog.unnest($8::text[]),
    pg_catalog.unnest($9::text[])) WITH ORDINALITY AS c(id, name, key, verdict, ord)
  ON CONFLICT DO NOTHING
),
o AS (
  UPDATE ${tables.operation}
  SET counts = $2::jsonb, expected = $3::bigint, expected_is = $4::text, seen_at = ${nodesNow(tables)}
  FROM clock
  WHERE id = $1::bigint AND ended_as IS NULL
  RETURNING *
)
SELECT ${selected(operationColumns(tables))} FROM o, clock`;

/** Parameters: id, how it ended, counts, error. */
export const endOperationSql = (tables: Tables): string => `
WITH ${clock(tables)},
o AS (
  UPDATE ${tables.operation}
  SET ended_at = COALESCE(ended_at, clock.now), ended_as = $2::text, counts = $3::jsonb, error = $4::text
  FROM clock
  WHERE id = $1::bigint
  RETURNING *
)
SELECT ${selected(operationColumns(tables))} FROM o, clock`;

/** Says that they go on. Parameter: ids. Answers those that are to stop. */
export const keepOperationsSql = (tables: Tables): string => `
WITH ${clock(tables)},
o AS (
  UPDATE ${tables.operation} SET seen_at = ${nodesNow(tables)} FROM clock
  WHERE id = ANY ($1::bigint[]) AND ended_as IS NULL
  RETURNING id, stop_asked
)
SELECT id::text AS id FROM o WHERE stop_asked`;

/** Asks it to stop, unless it has ended. Parameter: id. */
export const stopOperationSql = (tables: Tables): string => `
WITH ${clock(tables)},
o AS (
  UPDATE ${tables.operation} SET stop_asked = stop_asked OR ended_as IS NULL WHERE id = $1::bigint RETURNING *
)
SELECT ${selected(operationColumns(tables))} FROM o, clock`;

/** Condition: its limits are among those of viewer `$1`. */
const isWithin = (field: 'names' | 'groups'): string => {
  const [all, its] = [`$1::jsonb -> '${field}'::text`, `o.scope -> '${field}'::text`];
  return `(${all} = 'null'::jsonb OR (pg_catalog.jsonb_typeof(${its}) = 'array' AND ${all} @> (${its})))`;
};

/** Condition: viewer `$1` gave operation `o`; null: all. */
const IS_OWN = `($1::jsonb IS NULL OR (o.who = $1::jsonb ->> 'who'::text AND ${isWithin('names')} AND ${isWithin('groups')}))`;

/** Newest first. Parameters: viewer (null: all), the id to start behind, limit. */
export const operationsSql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${selected(operationColumns(tables))}
FROM ${tables.operation} o, clock
WHERE o.id < $2::bigint AND ${IS_OWN}
ORDER BY o.id DESC
LIMIT $3::int`;

/** Those that have changed a delay of the key, newest first. Parameters: viewer (null: all), key, limit. */
export const operationsOfKeySql = (tables: Tables): string => `
WITH ${clock(tables)}
SELECT ${selected(operationColumns(tables))}
FROM ${tables.operation} o, clock
WHERE o.id = ANY (ARRAY(SELECT c.operation_id FROM ${tables.operationChange} c WHERE c.key = $2::text))
  AND ${IS_OWN}
ORDER BY o.id DESC
LIMIT $3::int`;

export const CHANGE = {
  ord: asNumber('c.ord'),
  id: asText('c.delay_id::text', 'id'),
  name: asText('c.name'),
  key: asText<string | null>('c.key'),
  verdict: asText('c.verdict'),
};

/** In the order of its pages. Parameters: operation, the number to start behind, limit. */
export const operationChangesSql = ({ operationChange }: Tables): string => `
${ON_PRIMARY}
SELECT ${selected(CHANGE)}
FROM ${operationChange} c
WHERE c.operation_id = $1::bigint AND c.ord > $2::int
ORDER BY c.ord
LIMIT $3::int`;
