import { migrationStatements } from './migrations.js';

/** What the catalogue says of one thing in the schema: see `catalogueSql`. */
export interface Catalogued {
  kind: string;
  /** The table; of a table or a function, the schema. */
  of: string;
  name: string;
  /** The type of a column, the body of a function, a table's options. */
  is: string;
  flag: string;
  filled: string | null;
}

/** A difference between the tables as they are and as the migrations create them. */
export interface Drift {
  /** `delay.due_at`, `delay_wake`, `schedule_one`. */
  what: string;
  kind: 'table' | 'column' | 'index' | 'primary key' | 'constraint' | 'function';
  how: 'missing' | 'changed' | 'invalid' | 'added';
  /** For `changed`: as it is and as it should be; for `added`: what is there. */
  detail: string;
}

interface Expected {
  columns: Map<string, { type: string; isNotNull: boolean }>;
  tables: Set<string>;
  /** By name, the table. */
  indexes: Map<string, string>;
  constraints: Map<string, string>;
  primaryKeys: Map<string, string>;
  /** By name, the body. */
  functions: Map<string, string>;
}

/** As Postgres writes types that a migration abbreviates. */
const FULL_NAMES: Readonly<Record<string, string>> = {
  timestamptz: 'timestamp with time zone',
  float8: 'double precision',
};

const TABLE = /^CREATE TABLE IF NOT EXISTS "\w+"\.(\w+) \(/;
const INDEX = /^CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\w+) ON "\w+"\.(\w+)/;
const FUNCTION =
  /^\s*CREATE OR REPLACE FUNCTION "\w+"\.(\w+)\([\s\S]*?AS \$function\$([\s\S]*)\$function\$/;
const COLUMN = /^ +([a-z_]+) +([a-z0-9]+(?:\[\])?)(?= |,|$)(.*)$/;
const CONSTRAINT = /\bCONSTRAINT (\w+)/g;
/** Of the whole row, and without a name. */
const CHECK = /,\n +CHECK \(/;
const PRIMARY_KEY = /^ +PRIMARY KEY \(([^)]+)\)/;

/** Read from the migrations themselves, so that there is one list of the columns. */
function expectedOf(schema: string): Expected {
  const expected: Expected = {
    columns: new Map(),
    tables: new Set(),
    indexes: new Map(),
    constraints: new Map(),
    primaryKeys: new Map(),
    functions: new Map(),
  };
  for (const statement of migrationStatements(schema)) {
    const [, index, of] = INDEX.exec(statement) ?? [];
    if (index !== undefined && of !== undefined) expected.indexes.set(index, of);
    const [, name, body] = FUNCTION.exec(statement) ?? [];
    if (name !== undefined && body !== undefined) expected.functions.set(name, body);
    const [, table] = TABLE.exec(statement) ?? [];
    if (table !== undefined) addTable(expected, table, statement);
  }
  return expected;
}

function addTable(expected: Expected, table: string, statement: string): void {
  expected.tables.add(table);
  for (const [, name = ''] of statement.matchAll(CONSTRAINT)) {
    expected.constraints.set(name, table);
  }
  // As Postgres names them.
  if (CHECK.test(statement)) expected.constraints.set(`${table}_check`, table);
  if (statement.includes('PRIMARY KEY')) expected.primaryKeys.set(`${table}_pkey`, table);
  const keys = new Set<string>();
  for (const line of statement.split('\n').slice(1)) {
    for (const key of PRIMARY_KEY.exec(line)?.[1]?.split(', ') ?? []) keys.add(key);
    const [, name, type, rest = ''] = COLUMN.exec(line) ?? [];
    if (name === undefined || type === undefined) continue;
    expected.columns.set(`${table}.${name}`, {
      type: FULL_NAMES[type] ?? type,
      isNotNull: /NOT NULL|PRIMARY KEY/.test(rest),
    });
  }
  for (const key of keys) {
    const column = expected.columns.get(`${table}.${key}`);
    if (column !== undefined) column.isNotNull = true;
  }
}

/** @param found what the catalogue says of the schema */
export function driftOf(schema: string, found: readonly Catalogued[]): Drift[] {
  const expected = expectedOf(schema);
  const of = (kind: Catalogued['kind']): Map<string, Catalogued> =>
    new Map(
      found
        .filter((each) => each.kind === kind)
        .map((each) => [kind === 'column' ? `${each.of}.${each.name}` : each.name, each]),
    );
  const tables = of('table');
  const there = (what: string): boolean => tables.has(what.split('.')[0] ?? '');
  return [
    ...missing('table', [...expected.tables], tables),
    // Those of a missing table are not told one by one.
    ...missing('column', [...expected.columns.keys()].filter(there), of('column')),
    ...columnDrift(expected, of('column')),
    ...missing('index', keysOf(expected.indexes, tables), of('index')),
    ...invalid('index', of('index')),
    ...missing('primary key', keysOf(expected.primaryKeys, tables), of('constraint')),
    ...missing('constraint', keysOf(expected.constraints, tables), of('constraint')),
    ...invalid('constraint', of('constraint')),
    ...missing('function', [...expected.functions.keys()], of('function')),
    ...functionDrift(expected, of('function')),
  ];
}

const keysOf = (all: Map<string, string>, tables: Map<string, Catalogued>): string[] =>
  [...all].filter(([, table]) => tables.has(table)).map(([name]) => name);

const missing = (
  kind: Drift['kind'],
  wanted: readonly string[],
  found: Map<string, Catalogued>,
): Drift[] =>
  wanted
    .filter((what) => !found.has(what))
    .map((what) => ({ what, kind, how: 'missing', detail: '' }));

const invalid = (kind: Drift['kind'], found: Map<string, Catalogued>): Drift[] =>
  [...found]
    .filter(([, { flag }]) => flag === 'false')
    .map(([what]) => ({ what, kind, how: 'invalid', detail: '' }));

function columnDrift({ columns, tables }: Expected, found: Map<string, Catalogued>): Drift[] {
  return [...found].flatMap(([what, { of, is, flag, filled }]): Drift[] => {
    const wanted = columns.get(what);
    if (wanted === undefined) {
      // Only one that every INSERT has to fill does harm.
      const isInTheWay = tables.has(of) && flag === 'true' && filled !== 'true';
      return isInTheWay ? [{ what, kind: 'column', how: 'added', detail: `${is} NOT NULL` }] : [];
    }
    const [isNow, shouldBe] = [typeOf(is, flag === 'true'), typeOf(wanted.type, wanted.isNotNull)];
    return isNow === shouldBe
      ? []
      : [{ what, kind: 'column', how: 'changed', detail: `${isNow}, should be ${shouldBe}` }];
  });
}

const typeOf = (type: string, isNotNull: boolean): string =>
  isNotNull ? `${type} NOT NULL` : type;

const functionDrift = ({ functions }: Expected, found: Map<string, Catalogued>): Drift[] =>
  [...functions].flatMap(([what, body]): Drift[] => {
    const there = found.get(what);
    return there === undefined || there.is === body
      ? []
      : [{ what, kind: 'function', how: 'changed', detail: 'its text is that of another version' }];
  });
