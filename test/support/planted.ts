import type { Client } from 'pg';
import type { Statement } from './every-statement.js';

/**
 * Functions and operators that another role has created, each named as one of `pg_catalog`.
 *
 * - `planted_functions`: a copy of each of those functions, with the same arguments. Before `pg_catalog` in the path, each
 *   is found by a statement that does not name the schema, also where a function takes any type, or any number of arguments.
 * - `planted_operators`: for each operator one of each pair of types. Behind `pg_catalog` in the path, which is where a
 *   schema is that the path does not put first, one is found where `pg_catalog` has none of exactly these types.
 * - `planted_overloads`: the functions for such a place, of one and of two arguments.
 */
export const STRANGERS_PATH = 'planted_functions, pg_catalog, planted_operators';

/** Where even what fits exactly is another's. */
export const PLANTED_FIRST = 'planted_functions, planted_operators, planted_overloads, pg_catalog';

/** Where `pg_catalog` is first, as it is unless a path says otherwise. */
export const USUAL_PATH = 'public, planted_operators, planted_overloads';

const TYPES = (
  'text varchar name "char" int2 int4 int8 float8 numeric bool timestamptz interval jsonb uuid ' +
  'json oid tid bytea xid8 jsonpath'
).split(' ');

/** Of a function's two arguments: all pairs are too many. */
const PLAIN = 'text varchar int4 int8 float8 numeric bool jsonb'.split(' ');
const ARRAYS = ['text[]', 'int4[]', 'int8[]', 'float8[]', 'bool[]', 'timestamptz[]', 'jsonb[]'];

/** What `IN`, `BETWEEN`, `NULLIF` and `USING` look for. */
const UNWRITTEN = ['=', '<>', '<=', '>='];

const textArray = (texts: readonly string[]): string =>
  `ARRAY[${texts.map((text) => `'${text}'`).join(', ')}]::text[]`;

const ALL_TYPES = textArray([...TYPES, ...ARRAYS]);
const PLAIN_TYPES = textArray(PLAIN);

/** @param texts whose functions and operators have doubles then */
export async function plant(client: Client, texts: readonly string[]): Promise<void> {
  const words = new Set(texts.flatMap(wordsBeforeParentheses));
  const signs = new Set([
    ...UNWRITTEN,
    ...texts.flatMap((text) => text.match(/[-+*/<>=~!@#%^&|?]+/g) ?? []),
  ]);
  await client.query(`
    CREATE SCHEMA planted_functions;
    CREATE SCHEMA planted_operators;
    CREATE SCHEMA planted_overloads;
    CREATE SEQUENCE planted_operators.calls;

    -- Whatever is called says so, even if the caller's transaction is rolled back.
    CREATE FUNCTION planted_operators.definition(_name text, _arguments text, _returns text) RETURNS text
    LANGUAGE sql AS $definition$
      SELECT format('CREATE FUNCTION %s(%s) RETURNS %s ', _name, _arguments, _returns) || CASE
        -- No other language takes any type. It would end the session.
        WHEN _arguments ~ '"any"' THEN $c$LANGUAGE internal AS 'json_build_object'$c$
        ELSE $c$LANGUAGE plpgsql AS $body$ BEGIN
          PERFORM pg_catalog.nextval('planted_operators.calls'::pg_catalog.regclass);
          RAISE EXCEPTION 'planted: $c$ || replace(_arguments, '"', '') || $c$';
        END $body$ $c$ END
    $definition$;

    DO $plant$
    DECLARE
      _names text[] := ARRAY(SELECT DISTINCT proname::text FROM pg_proc
                             WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (${textArray([...words])}));
      _signs text[] := ARRAY(SELECT DISTINCT oprname::text FROM pg_operator
                             WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprname = ANY (${textArray([...signs])}));
      _definition text;
      _operator text;
    BEGIN
      FOR _definition IN
        SELECT planted_operators.definition(format('planted_functions.%I', p.proname), arguments, returns)
        FROM pg_proc p, pg_get_function_identity_arguments(p.oid) arguments, pg_get_function_result(p.oid) returns
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (_names)
          AND arguments !~ 'internal|OUT |ORDER BY|cstring' AND returns !~ 'internal|cstring|TABLE|trigger|record'
        UNION ALL
        SELECT planted_operators.definition(format('planted_overloads.%I', n), t, 'text')
        FROM unnest(_names) n, unnest(${ALL_TYPES}) t
        UNION ALL
        SELECT planted_operators.definition(format('planted_overloads.%I', n), format('%s, %s', t, u), 'text')
        FROM unnest(_names) n, unnest(${PLAIN_TYPES}) t, unnest(${PLAIN_TYPES}) u
        UNION ALL
        SELECT planted_operators.definition('planted_operators.op', format('%s, %s', t, u), 'bool')
        FROM unnest(${ALL_TYPES}) t, unnest(${ALL_TYPES}) u
      LOOP
        EXECUTE _definition;
      END LOOP;
      FOR _operator IN
        SELECT format('%s (FUNCTION = planted_operators.op, LEFTARG = %s, RIGHTARG = %s)', o, t, u)
        FROM unnest(_signs) o, unnest(${ALL_TYPES}) t, unnest(${ALL_TYPES}) u
      LOOP
        EXECUTE 'CREATE OPERATOR planted_operators.' || _operator;
      END LOOP;
    END $plant$`);
}

/** How often something planted was called, also by transactions that were rolled back. */
export async function plantedCalls(client: Client): Promise<number> {
  const { rows } = await client.query<{ calls: string }>(
    `SELECT CASE WHEN is_called THEN last_value ELSE 0 END::text AS calls FROM planted_operators.calls`,
  );
  return Number(rows[0]?.calls);
}

const FOUND = `
  SELECT DISTINCT r.identity AS what
  FROM pg_catalog.pg_depend d, pg_catalog.pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) r
  WHERE d.classid = $1::regclass AND d.objid = $2::oid AND pg_catalog.starts_with(r.schema, 'planted_')`;

/**
 * What is planted and would be called by a statement, or by what Postgres says of it when something planted does not fit.
 * Nothing is executed: the statement becomes the body of a function, and Postgres writes down what that refers to.
 */
export async function plantedIn(client: Client, { of, text }: Statement): Promise<string[]> {
  await client.query('BEGIN');
  try {
    await client.query(`PREPARE walked AS ${text}`);
    const { rows } = await client.query<{ types: string }>(
      `SELECT pg_catalog.array_to_string(parameter_types, ', ') AS types FROM pg_catalog.pg_prepared_statements
       WHERE name = 'walked'`,
    );
    await client.query('DEALLOCATE walked');
    await client.query(
      `CREATE FUNCTION planted_operators.walked(${rows[0]?.types}) RETURNS void BEGIN ATOMIC ${text}; END`,
    );
    const found = await client.query<{ what: string }>(FOUND, [
      'pg_proc',
      (
        await client.query<{ oid: string }>(
          `SELECT oid::text FROM pg_catalog.pg_proc WHERE proname = 'walked'`,
        )
      ).rows[0]?.oid,
    ]);
    return found.rows.map(({ what }) => `${of}: ${what}`);
  } catch (error) {
    return [`${of}: ${(error as Error).message}`];
  } finally {
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
}

/** What in a schema refers to something planted: a constraint, a default, an index. */
export async function plantedUnder(client: Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ what: string }>(
    `SELECT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) || ': ' || r.identity AS what
     FROM pg_catalog.pg_depend d, pg_catalog.pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) r,
       pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) o
     WHERE pg_catalog.starts_with(r.schema, 'planted_') AND o.identity LIKE $1`,
    [`%${schema}.%`],
  );
  return rows.map(({ what }) => what);
}

/** Words before a parenthesis: of those, functions are what `pg_catalog` has functions of. */
const wordsBeforeParentheses = (text: string): string[] =>
  [...text.matchAll(/\b([a-z_][a-z0-9_]*)\s*\(/g)].map(([, name]) => name!);
