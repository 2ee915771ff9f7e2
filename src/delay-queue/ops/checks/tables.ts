import {
  type Catalogued,
  type Drift,
  findDrift,
  type Finding,
  notice,
  ok,
  problem,
} from '../../core/ops.js';
import { PROGRAM } from './words.js';

/** Everything in the schema, compared with what the migrations make. */
export function judgeTables(schema: string, found: readonly Catalogued[]): Finding[] {
  if (!found.some(({ kind }) => kind === 'table')) {
    return [noTables(schema, `the schema ${schema} has no tables`)];
  }
  const drift = findDrift(found);
  const missing = drift.filter(({ kind, how }) => kind === 'table' && how === 'missing');
  const findings = [
    ...(missing.length > 0
      ? [noTables(schema, `tables are missing: ${missing.map(({ name }) => name).join(', ')}`)]
      : []),
    ...drift
      .filter((each) => !missing.includes(each))
      .flatMap((each) => (each.kind === 'table' ? splitSettings(each) : [each]))
      .map((each) => judgeDrift(schema, each)),
  ];
  return findings.length > 0 ? findings : [ok('drift', 'everything is as the migrations make it')];
}

const noTables = (schema: string, found: string): Finding =>
  problem('drift', found, {
    means: 'No node starts.',
    todo: `${migrateIn(schema)}, or name the right schema.`,
  });

const migrateIn = (schema: string): string =>
  `Run ${PROGRAM} migrate${schema === 'delay_queue' ? '' : ` --schema ${schema}`}`;

/** What a difference means, and what mends it. */
interface Remedy {
  /** Default: `drift`. */
  check?: string;
  /** Default: a problem. */
  level?: typeof notice;
  found?: (drift: Drift) => string;
  means: string;
  todo?: string;
  sql?: (drift: Drift, schema: string) => string | undefined;
}

function judgeDrift(schema: string, drift: Drift): Finding {
  const remedy = remedyFor(drift);
  const { check = 'drift', level = problem, found = describeDrift, means, todo, sql } = remedy;
  const isPrimary = drift.shouldBe.startsWith('PRIMARY KEY');
  return (isPrimary ? problem : level)(check, found(drift), {
    means,
    todo: todo ?? `${migrateIn(schema)}.`,
    sql: sql?.(drift, schema),
  });
}

function remedyFor(drift: Drift): Remedy {
  const { kind, how, is } = drift;
  const usual = REMEDIES[`${kind} ${how}`];
  if (isInTheWay(drift)) return { ...usual, ...IN_THE_WAY };
  const known = kind === 'setting' && how === 'added' && TABLE_IS.find((each) => each.is.test(is));
  return known || (usual ?? { level: notice, means: '', todo: '' });
}

function describeDrift({ kind, of, name, how, is, shouldBe }: Drift): string {
  const isPrimary = shouldBe.startsWith('PRIMARY KEY');
  const what = `the ${isPrimary ? 'primary key' : kind} ${/column|sequence/.test(kind) ? `${of}.${name}` : name}`;
  if (how === 'missing') return `${what} is missing`;
  if (how === 'added') return `${what} on ${of} is not of the library${is && `: ${is}`}`;
  if (is === `${shouldBe} NOT VALID`) return `${what} is not valid`;
  // The text of a function is told as far as a person can read it.
  const [now, wanted] = [is, shouldBe].map((text) => text.replace(/ text [0-9a-f]{16}$/, ''));
  return now === wanted && now !== is
    ? `${what} is changed: its text is that of another version`
    : `${what} is changed: ${now}, should be ${wanted}`;
}

const qualified = (schema: string, name: string): string => `"${schema}".${name}`;
const alter =
  (change: (drift: Drift) => string | undefined): Remedy['sql'] =>
  (drift, schema) => {
    const done = change(drift);
    return done && `ALTER TABLE ${qualified(schema, drift.of)} ${done}`;
  };

const FAILS = 'Statements that need it fail.';
const MEASURED = 'It was measured with the settings of the migrations.';

/** By kind and difference. Without `todo`, `migrate` mends it. */
const REMEDIES: Readonly<Record<string, Remedy | undefined>> = {
  'column missing': { means: FAILS },
  'column changed': {
    means: 'Statements may fail, or do something else.',
    todo: 'Change it back as the owner of the tables.',
    sql: alter(columnSql),
  },
  'column added': {
    level: notice,
    means: 'No statement of this version reads or fills it. A later version may have added it.',
    todo: 'Nothing, unless it was added by mistake.',
  },
  'index missing': { means: 'Statements that need it read the whole table.' },
  'index changed': {
    means: 'Statements that need it read the whole table, or fail.',
    todo: 'Build it again.',
    sql: ({ name, is, shouldBe }, schema) =>
      is === `${shouldBe} NOT VALID`
        ? `REINDEX INDEX CONCURRENTLY ${qualified(schema, name)}`
        : `DROP INDEX ${qualified(schema, name)}; ${shouldBe.replace(' ON ', ` ON "${schema}".`)}`,
  },
  'index added': {
    level: notice,
    means: 'Each write pays for it; one on columns that a claim changes ends HOT updates.',
    todo: 'If nothing of yours needs it, drop it.',
    sql: ({ name }, schema) => `DROP INDEX ${qualified(schema, name)}`,
  },
  'constraint missing': {
    level: notice,
    means: 'It refuses rows that no node can read; each such row is set aside instead.',
  },
  'constraint changed': {
    means: 'It may let rows pass that no node can read, or refuse what the library writes.',
    todo: 'Put it back as the owner of the tables.',
    sql: alter(({ name, is, shouldBe }) =>
      is === `${shouldBe} NOT VALID`
        ? `VALIDATE CONSTRAINT ${name}`
        : `DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} ${shouldBe}`,
    ),
  },
  'constraint added': {
    means: 'It may refuse what the library writes: schedule or an attempt fails.',
    todo: 'Drop it.',
    sql: alter(({ name }) => `DROP CONSTRAINT ${name}`),
  },
  'foreign key added': {
    means: 'A delay that the other table refers to cannot end: its completion fails.',
    todo: 'Drop it there, and keep the name and key of the delay instead.',
  },
  'function missing': { means: FAILS },
  'function changed': { means: 'It does something else, or with the rights of another role.' },
  'function added': {
    means: 'It may be called instead of the one of the library.',
    todo: 'Drop it.',
    sql: ({ name }, schema) =>
      `DROP FUNCTION ${qualified(schema, name.replaceAll('timestamptz', 'pg_catalog.timestamptz'))}`,
  },
  'sequence changed': {
    means: 'Ids may come twice or in another order, or run out.',
    todo: 'Put it back as the owner of the tables.',
    sql: alter(
      ({ name, shouldBe }) =>
        `ALTER ${name} ${shouldBe
          .replace(/^\w+ /, '')
          .replaceAll(/([A-Z]+) (\d+)/g, 'SET $1 $2')} SET NO CYCLE`,
    ),
  },
  'setting missing': {
    level: notice,
    found: ({ name, shouldBe }) =>
      `the table ${name} is not set to ${shouldBe.replaceAll('=', ' = ')}`,
    means: MEASURED,
    todo: 'Set them as the owner of the tables.',
    sql: alter(({ shouldBe }) => `SET (${shouldBe.replaceAll('=', ' = ')})`),
  },
  'setting added': {
    level: notice,
    found: ({ name, is }) => `the table ${name} is set to ${is}`,
    means: MEASURED,
    todo: 'Change it back, unless it is deliberate.',
    sql: alter(({ is, shouldBe }) =>
      shouldBe === '' ? `RESET (${nameIn(is)})` : `SET (${shouldBe.replace('=', ' = ')})`,
    ),
  },
  'trigger added': {
    level: notice,
    means: 'It runs in each write of the library, and can change, refuse or drop it.',
    todo: 'If it is not yours, drop it.',
    sql: ({ of, name }, schema) => `DROP TRIGGER "${name}" ON ${qualified(schema, of)}`,
  },
  'rule added': {
    means: 'The library writes something other than it says, or nothing.',
    todo: 'Drop it.',
    sql: ({ of, name }, schema) => `DROP RULE "${name}" ON ${qualified(schema, of)}`,
  },
  'policy added': {
    level: notice,
    means: 'With row-level security on, a role would not see some rows.',
    todo: 'Drop it.',
    sql: ({ of, name }, schema) => `DROP POLICY "${name}" ON ${qualified(schema, of)}`,
  },
};

/** Statements that cannot be left out: a column that every INSERT has to fill, a second key. */
const isInTheWay = ({ kind, how, is }: Drift): boolean =>
  how === 'added' &&
  ((kind === 'column' && is.includes(' NOT NULL') && !/ GENERATED | DEFAULT /.test(is)) ||
    (kind === 'index' && is.startsWith('CREATE UNIQUE')));

const IN_THE_WAY = {
  level: problem,
  means: 'The library does not know it, and its statements break it: schedule fails.',
  todo: 'Drop it, or let a column have a default.',
} satisfies Remedy;

/** A setting of a table that does more than cost speed, with what ends it behind ALTER TABLE. */
const mended = (
  is: RegExp,
  change: string,
  remedy: Omit<Remedy, 'todo' | 'sql'>,
): Remedy & { is: RegExp } => ({
  is,
  ...remedy,
  todo: 'Change it back, unless it is deliberate.',
  sql: alter(() => change),
});

const TABLE_IS: readonly (Remedy & { is: RegExp })[] = [
  mended(/^autovacuum_enabled=(?:false|off|0|no)$/i, 'RESET (autovacuum_enabled)', {
    check: 'autovacuum',
    found: ({ name }) => `autovacuum is off for ${name}`,
    means: 'Nothing removes its dead rows: it keeps growing.',
  }),
  mended(/^unlogged$/, 'SET LOGGED', {
    check: 'durability',
    found: ({ name }) => `${name} is an unlogged table`,
    means: 'After a crash of the server it is empty.',
  }),
  mended(/^row security$/, 'DISABLE ROW LEVEL SECURITY', {
    check: 'row-security',
    found: ({ name }) => `row-level security is on for ${name}`,
    means: 'A role would not see some rows, or could not write them: no node starts.',
  }),
  mended(/^forced row security$/, 'NO FORCE ROW LEVEL SECURITY', {
    check: 'row-security',
    level: notice,
    found: ({ name }) => `row-level security would also apply to the owner of ${name}`,
    means: 'It is not on.',
  }),
  mended(/^replica identity$/, 'REPLICA IDENTITY DEFAULT', {
    level: notice,
    found: ({ name }) => `the replica identity of ${name} is changed`,
    means: 'A subscriber may not find the rows that change, and each change writes more WAL.',
  }),
  {
    is: /^partitioned$/,
    level: notice,
    found: ({ name }) => `the table ${name} is partitioned`,
    means: 'It works. But no attempt can end without a partition for it.',
    todo: 'Give it a default partition.',
  },
  {
    is: /^(?:parent|child) of|^not a table$/,
    found: ({ name, is }) => `the table ${name} is ${is}`,
    means: 'Statements read and change rows of others, or cannot write.',
    todo: 'Undo that, or migrate into another schema.',
  },
];

const listSettings = (text: string): string[] => (text === '' ? [] : text.split(', '));

const nameIn = (setting: string): string => setting.split('=', 1)[0]!;

/** One difference for each setting that was added or changed, and one for all that are missing. */
function splitSettings(table: Drift): Drift[] {
  const [now, wanted] = [listSettings(table.is), listSettings(table.shouldBe)];
  const setting = { ...table, kind: 'setting' };
  const added = now
    .filter((each) => !wanted.includes(each))
    .map((each): Drift => {
      const shouldBe = wanted.find((its) => nameIn(its) === nameIn(each)) ?? '';
      return { ...setting, how: 'added', is: each, shouldBe };
    });
  const missing = wanted.filter((each) => !now.some((its) => nameIn(its) === nameIn(each)));
  if (missing.length === 0) return added;
  return [...added, { ...setting, how: 'missing', is: '', shouldBe: missing.join(', ') }];
}

const COLUMN =
  /^(.*?)( COLLATE \S+)?( NOT NULL)?( GENERATED (?:ALWAYS|BY DEFAULT) AS IDENTITY| DEFAULT .*?)?( STORAGE .)?$/;

const STORAGE: Readonly<Record<string, string>> = { p: 'PLAIN', m: 'MAIN', e: 'EXTERNAL' };

/** What follows ALTER TABLE, to make a column what it should be; undefined: a computed one. */
function columnSql({ name, is, shouldBe }: Drift): string | undefined {
  if (is.includes(' GENERATED ALWAYS AS (')) return undefined;
  const [now, wanted] = [is, shouldBe].map((text) => COLUMN.exec(text)?.slice(1) ?? []);
  const [type, collation, notNull, value, storage] = (now ?? []).map(
    (part, n) => part !== wanted?.[n],
  );
  const [toType = '', toCollation = '', toNotNull, toValue = '', toStorage] = wanted ?? [];
  const isRetyped = (type ?? false) || (collation ?? false);
  const before = isRetyped || value ? now?.[3] : undefined;
  const changes = [
    before?.startsWith(' DEFAULT') && 'DROP DEFAULT',
    before?.startsWith(' GENERATED') && toValue === '' && 'DROP IDENTITY',
    isRetyped && `TYPE ${toType}${toCollation} USING ${name}::${toType}`,
    notNull && `${toNotNull === undefined ? 'DROP' : 'SET'} NOT NULL`,
    toValue.startsWith(' DEFAULT') && (isRetyped || value) && `SET${toValue}`,
    value &&
      toValue.startsWith(' GENERATED') &&
      (now?.[3]?.includes('IDENTITY') ? 'SET GENERATED ALWAYS' : `ADD${toValue}`),
    storage && `SET STORAGE ${STORAGE[toStorage?.at(-1) ?? ''] ?? 'EXTENDED'}`,
  ].filter((change) => typeof change === 'string');
  return changes.map((change) => `ALTER ${name} ${change}`).join(', ');
}
