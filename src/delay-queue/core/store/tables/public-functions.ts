import { KEY_LENGTH_MAX } from '../../config/checks.js';
import { DURATION_MS_MAX } from '../../config/durations.js';
import { HEADER_BYTES_MAX, HEADER_NAME_LENGTH_MAX, HEADERS_MAX } from '../../config/headers.js';
import { SHOWN_LENGTH_MAX } from '../../config/shown.js';
import { PAYLOAD_BYTES_MAX } from '../../config/payload-encoder.js';
import { MAX_ATTEMPTS_MAX } from '../../config/options.js';
import { ON_CONFLICT } from '../../config/schedule-options.js';
import { functionName, type Tables, wholeMs } from '../../database/tables.js';
import { groupNumberSql } from '../rows/attempt-rows.js';
import { cancelSql, rescheduleSql } from '../sql/delays.sql.js';
import { HELD_MAX_MS } from '../sql/fragments/clock.js';
import { stateAt } from '../sql/fragments/state-and-error.js';
import { scheduleTakenSql } from '../sql/schedule.sql.js';
import { cancelOneCall, scheduleOneCall } from './functions.js';

/*
 * The functions of the schema for every other client: they check what DelayService checks, return
 * the same verdicts, and belong to the caller's transaction. They act as the owner of the schema,
 * so a role needs EXECUTE on them and nothing else.
 */

/** The SQLSTATE of each code; the message begins with the code. */
const SQLSTATES = { DELAY_INVALID: 'DQ001', DELAY_CONFLICT: 'DQ002', DELAY_UNSTABLE: 'DQ003' };

const quoteLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * @param message SQL
 * @param field the argument that is wrong; the error names it as its column
 */
const raise = (code: keyof typeof SQLSTATES, message: string, field = ''): string =>
  `RAISE EXCEPTION USING ERRCODE = '${SQLSTATES[code]}', COLUMN = '${field}', MESSAGE = '${code}: ' || ${message};`;

/** @param why SQL */
const refuseIf = (condition: string, field: string, why: string): string =>
  `IF ${condition} THEN ${raise('DELAY_INVALID', `${quoteLiteral(`${field}: `)} || ${why}`, field)} END IF;`;

/** As `shown` shows it. */
const shownSql = (text: string): string =>
  `CASE WHEN ${text} IS NULL THEN 'null' WHEN char_length(${text}) > ${SHOWN_LENGTH_MAX}
          THEN 'a text of ' || char_length(${text}) || ' characters' ELSE to_json(${text})::text END`;

/** UTF-16 units, as in JavaScript: characters beyond the first 65,536 count twice. */
const units = (text: string): string =>
  `char_length(${text}) + char_length(regexp_replace(${text}, '[^' || chr(65536) || '-' || chr(1114111) || ']', '', 'g'))`;

const CHECK_NAME = refuseIf(
  `(_name COLLATE "C" ~ '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$') IS NOT TRUE`,
  'name',
  `${quoteLiteral(`must be a text like 'order.close': 1 to 100 letters, digits and ._:/-, beginning with a letter or digit, not `)} || ${shownSql('_name')}`,
);

/** @param variable may be NULL */
const checkTextSql = (variable: string, field: string): string =>
  `IF octet_length(${variable}) NOT BETWEEN 1 AND ${KEY_LENGTH_MAX} AND (${variable} = '' OR ${units(variable)} > ${KEY_LENGTH_MAX}) THEN ${raise('DELAY_INVALID', `'${field}: must have 1 to ${KEY_LENGTH_MAX} characters, but has ' || ${units(variable)}`, field)} END IF;`;

const CHECK_TARGET = `${CHECK_NAME}
  ${refuseIf('_key IS NULL', 'key', `'must be a text, not null'`)}
  ${checkTextSql('_key', 'key')}`;

const CHECK_HEADERS = `IF _headers IS NOT NULL THEN
  ${refuseIf(`jsonb_typeof(_headers) <> 'object' OR _headers @? '$.* ? (@.type() <> "string")'`, 'headers', `'must be an object of texts'`)}
  SELECT count(*) AS count, octet_length(_headers::text) - 2 * count(*) + 1 AS bytes,
         min(char_length(name)) AS shortest, max(char_length(name)) AS longest
  INTO _row FROM jsonb_object_keys(_headers) AS name;
  ${refuseIf(`_row.count > ${HEADERS_MAX}`, 'headers', `'must be at most ${HEADERS_MAX}, not ' || _row.count`)}
  ${refuseIf(
    `_row.shortest < 1 OR _row.longest > ${HEADER_NAME_LENGTH_MAX}`,
    'headers.name',
    `'must have 1 to ${HEADER_NAME_LENGTH_MAX} characters, but has ' || CASE WHEN _row.shortest < 1 THEN 0 ELSE _row.longest END`,
  )}
  ${refuseIf(`_row.bytes > ${HEADER_BYTES_MAX}`, 'headers', `'must take at most ${HEADER_BYTES_MAX} bytes, not ' || _row.bytes`)}
  _headers := NULLIF(_headers, '{}');
  END IF;`;

/** Sets `_after_ms` and `_at` from `_after` and `_due_at`. */
const READ_DUE_TIME = `
  ${refuseIf('_after IS NULL AND _due_at IS NULL', 'after|due_at', quoteLiteral(`say when, with exactly one of after, due_at: after => '30 minutes'`))}
  ${refuseIf('_after IS NOT NULL AND _due_at IS NOT NULL', 'due_at', `'give either after or due_at, not both'`)}
  ${refuseIf(
    "(date_part('year', _after) <> 0 OR date_part('month', _after) <> 0) IS TRUE",
    'after',
    quoteLiteral(`counts months or years, which differ in length: "`) +
      ` || _after || ${quoteLiteral(`". Count days, like '365 days'`)}`,
  )}
  _after_ms := ceil(extract(epoch FROM _after) * 1000);
  ${refuseIf('_after_ms < 0', 'after', `'must not be negative, but is "' || _after || '"'`)}
  ${refuseIf(`_after_ms > ${DURATION_MS_MAX}`, 'after', `'must be at most 100 years, but is "' || _after || '"'`)}
  ${refuseIf(`_due_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999+00'`, 'due_at', `'must lie from 1970-01-01 to 9999-12-31'`)}
  _at := ${wholeMs('_due_at')};`;

/** SQL for what was written, and for the clock, in milliseconds since 1970. */
interface WrittenRow {
  id: string;
  epoch: string;
  wakeMs: string;
  nowMs: string;
  group: string;
}

const OF_ROW = { id: '_row.id', epoch: '_row.epoch', wakeMs: '_row.wake_ms', nowMs: '_row.now_ms' };

/** Sends a hint for a delay that is due within the default horizon; loads find all others in time. */
const hint = ({ schema }: Tables, { id, epoch, wakeMs, nowMs, group }: WrittenRow): string => `
  IF ${wakeMs}::float8 < ${nowMs}::float8 + 30000 THEN
    PERFORM pg_notify(${quoteLiteral(schema.slice(1, -1).replaceAll('""', '"'))}, 'w[[' || ${id} || ',' || ${epoch} || ',"' || _name || '",' || ${wakeMs}
      || CASE WHEN ${group} IS NULL THEN '' ELSE ',0,' || ${groupNumberSql(group)} END || ']]');
  END IF;`;

/** The statement of a client, with the function's variables for its parameters. */
const withVariables = (sql: string, variables: readonly string[]): string =>
  sql.replaceAll(/\$(\d+)/g, (_, number) => variables[Number(number) - 1] as string);

/**
 * Looks until no other session changes the row: each look sees what has been committed by then.
 * @param look a statement that answers `again` until then, and its INTO
 * @param first goes before each look; may EXIT
 */
const untilStableSql = ({ now }: Tables, look: string, first = ''): string => `
  FOR _look IN 1 .. 100000 LOOP${first}
    ${look} INTO _row;
    EXIT WHEN _row.verdict <> 'again';
    IF _look >= 10 AND ${now} > _began + interval '${HELD_MAX_MS} milliseconds' THEN
      ${raise('DELAY_UNSTABLE', quoteLiteral(`other transactions held or changed the row of that key for ${HELD_MAX_MS} ms, or two transactions wait for each other; this call wrote nothing: try again, in a transaction after rolling it back`))}
    END IF;
    PERFORM pg_sleep(LEAST(0.05, 0.001 * 2 ^ LEAST(_look, 10)));
  END LOOP;`;

interface PublicFunction {
  name: string;
  /** With their defaults. */
  args: readonly string[];
  returns: string;
  declares: readonly string[];
  body: string;
}

function createSql(
  tables: Tables,
  { name, args, returns, declares, body }: PublicFunction,
): string {
  const aliases = args.map(
    (arg, n) => `_${arg.split(' ')[0]?.replaceAll('"', '')} ALIAS FOR $${n + 1};`,
  );
  return `
CREATE OR REPLACE FUNCTION ${functionName(tables, name)}(${args.join(', ')})
RETURNS ${returns} LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $function$
#variable_conflict use_column
DECLARE
  ${[...aliases, ...declares.map((one) => `${one};`)].join('\n  ')}
BEGIN
  ${body}
END $function$`;
}

const TARGET = ['name text', 'key text'];
const WHEN = ['after interval DEFAULT NULL', 'due_at timestamptz DEFAULT NULL'];
const WHEN_VARIABLES = ['_after_ms float8', '_at timestamptz'];
const lookVariables = ({ now }: Tables): string[] => [
  '_row record',
  `_began timestamptz := ${now}`,
];

const publicFunctions = (tables: Tables): PublicFunction[] => [
  {
    name: 'schedule',
    args: [
      'name text',
      `payload jsonb DEFAULT 'null'`,
      ...WHEN,
      'key text DEFAULT NULL',
      '"group" text DEFAULT NULL',
      'headers jsonb DEFAULT NULL',
      `on_conflict text DEFAULT 'replace'`,
      'max_attempts integer DEFAULT NULL',
    ],
    returns: `${tables.schema}.scheduled`,
    declares: [
      ...WHEN_VARIABLES,
      ...lookVariables(tables),
      '_json text',
      '_new text[]',
      '_wake_ms float8',
      `_result ${tables.schema}.scheduled`,
    ],
    body: `
  ${CHECK_NAME}
  _json := COALESCE(_payload, 'null')::text;
  ${refuseIf(
    `octet_length(_json) > ${PAYLOAD_BYTES_MAX}`,
    'payload',
    `'must take at most ${PAYLOAD_BYTES_MAX} bytes as JSON; store large data in your own table and pass its id'`,
  )}
  ${READ_DUE_TIME}
  ${checkTextSql('_key', 'key')}
  ${checkTextSql('_group', 'group')}
  ${CHECK_HEADERS}
  ${refuseIf(
    `(_on_conflict IN (${ON_CONFLICT.map(quoteLiteral).join(', ')})) IS NOT TRUE`,
    'on_conflict',
    `'must be one of ${ON_CONFLICT.join(', ')}, not ' || ${shownSql('_on_conflict')}`,
  )}
  ${refuseIf(
    `_max_attempts NOT BETWEEN 1 AND ${MAX_ATTEMPTS_MAX}`,
    'max_attempts',
    `'must be a whole number from 1 to ${MAX_ATTEMPTS_MAX}, not ' || _max_attempts`,
  )}
  ${untilStableSql(
    tables,
    withVariables(scheduleTakenSql(tables, 'attempts', 'at once'), [
      'ARRAY[_name]',
      'ARRAY[_key]',
      'ARRAY[_json]',
      'ARRAY[_after_ms]',
      'ARRAY[_at]',
      'ARRAY[_max_attempts]',
      'ARRAY[_on_conflict]',
      `ARRAY[jsonb_strip_nulls(jsonb_build_object('group', _group, 'headers', _headers))::text]`,
    ]),
    `
    _new := string_to_array(${scheduleOneCall(tables, ['_name', '_key', '_json', '_after_ms', '_at', '_max_attempts', '_group', '_headers'])}, ' ');
    IF _new IS NOT NULL THEN
      _wake_ms := GREATEST(_new[2]::float8, ceil(_new[3]::float8 / 1000));
      ${hint(tables, { id: '_new[1]', epoch: '0', wakeMs: '_wake_ms', nowMs: '(_new[3]::float8 / 1000)', group: '_group' })}
      _result := ROW('scheduled', _new[1]::bigint, to_timestamp(_new[2]::float8 / 1000));
      RETURN _result;
    END IF;`,
  )}
  IF _row.verdict = 'conflict' THEN
    ${raise('DELAY_CONFLICT', `'a delay ' || _name || ' with the key ' || to_json(_key) || ' is already waiting'`, 'key')}
  END IF;
  ${hint(tables, { ...OF_ROW, group: '_group' })}
  _result := ROW(_row.verdict, _row.id::bigint, to_timestamp(_row.due_ms::float8 / 1000));
  RETURN _result;`,
  },
  {
    name: 'cancel',
    args: TARGET,
    returns: 'text',
    declares: lookVariables(tables),
    body: `
  ${CHECK_TARGET}
  IF ${cancelOneCall(tables, ['_name', '_key', `'attempts'`])} IS NOT NULL THEN RETURN 'cancelled'; END IF;
  ${untilStableSql(
    tables,
    withVariables(cancelSql(tables, 'attempts', 'at once'), [
      'ARRAY[_name]',
      'ARRAY[_key]',
      'NULL',
      'NULL',
    ]),
  )}
  RETURN _row.verdict;`,
  },
  {
    name: 'reschedule',
    args: [...TARGET, ...WHEN],
    returns: `${tables.schema}.rescheduled`,
    declares: [...WHEN_VARIABLES, ...lookVariables(tables), `_result ${tables.schema}.rescheduled`],
    body: `
  ${CHECK_TARGET}
  ${READ_DUE_TIME}
  ${untilStableSql(
    tables,
    withVariables(rescheduleSql(tables, 'at once'), [
      'ARRAY[_name]',
      'ARRAY[_key]',
      'ARRAY[_after_ms]',
      'ARRAY[_at]',
      'ARRAY[NULL]',
    ]),
  )}
  ${hint(tables, { ...OF_ROW, group: '_row.group_id' })}
  _result := ROW(_row.verdict, to_timestamp(_row.due_ms::float8 / 1000));
  RETURN _result;`,
  },
  {
    name: 'find',
    args: TARGET,
    returns:
      'TABLE (id bigint, state text, due_at timestamptz, attempts integer, max_attempts integer, payload jsonb, "group" text, headers jsonb, last_error text, created_at timestamptz)',
    declares: [],
    body: `
  ${CHECK_TARGET}
  RETURN QUERY SELECT d.id, ${stateAt('now')}, d.due_at, d.attempts, d.max_attempts, d.payload, d.group_id, d.headers, d.last_error, d.created_at
    FROM ${tables.delay} d, ${tables.now} AS now
    WHERE d.name = _name AND d.key = _key;`,
  },
];

const TYPES = [
  ['scheduled', '(verdict text, id bigint, due_at timestamptz)'],
  ['rescheduled', '(verdict text, due_at timestamptz)'],
] as const;

/** Its types of arguments. */
const signature = (tables: Tables, { name, args }: PublicFunction): string =>
  `${functionName(tables, name)}(${args.map((arg) => arg.replace(/ DEFAULT .*/, '').split(' ')[1]).join(', ')})`;

/** Statements that create the functions and their types; each may run again. */
export const createPublicFunctions = (tables: Tables): string[] => [
  ...TYPES.map(
    ([name, columns]) =>
      `DO $do$ BEGIN CREATE TYPE ${tables.schema}.${name} AS ${columns}; EXCEPTION WHEN duplicate_object THEN NULL; END $do$`,
  ),
  ...publicFunctions(tables).flatMap((each) => [
    createSql(tables, each),
    // They act as the owner of the schema: who may call them is for you to say.
    `REVOKE ALL ON FUNCTION ${signature(tables, each)} FROM PUBLIC`,
  ]),
];

/** The functions, with their arguments. */
export const publicSignatures = (tables: Tables): string[] =>
  publicFunctions(tables).map((each) => signature(tables, each));

export const dropPublicFunctions = (tables: Tables): string[] => [
  `DROP FUNCTION ${publicSignatures(tables).join(', ')}`,
  `DROP TYPE ${TYPES.map(([name]) => `${tables.schema}.${name}`).join(', ')}`,
];
