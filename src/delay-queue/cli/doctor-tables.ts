import {
  type Catalogued,
  type Drift,
  findDrift,
  type Finding,
  notice,
  ok,
  problem,
} from '../core/ops.js';
import { PROGRAM } from './commands.js';
import { columnSql, tableFindings } from './doctor-remedies.js';

/** Everything in the schema, compared with what the migrations make. */
export function driftFindings(schema: string, found: readonly Catalogued[]): Finding[] {
  const drift = findDrift(found);
  const missing = drift.filter(({ kind, how }) => kind === 'table' && how === 'missing');
  if (!found.some(({ kind }) => kind === 'table')) {
    return [noTables(schema, `the schema ${schema} has no tables`)];
  }
  const findings = [
    ...(missing.length > 0
      ? [noTables(schema, `tables are missing: ${missing.map(({ name }) => name).join(', ')}`)]
      : []),
    ...drift
      .filter((each) => !missing.includes(each))
      .flatMap((each) =>
        each.kind === 'table' ? tableFindings(schema, each) : [driftFinding(schema, each)],
      ),
  ];
  return findings.length > 0 ? findings : [ok('drift', 'everything is as the migrations make it')];
}

const noTables = (schema: string, found: string): Finding =>
  problem('drift', found, {
    means: 'No node starts.',
    todo: `${migrateIn(schema).replace(/\.$/, '')}, or name the right schema.`,
  });

const migrateIn = (schema: string): string =>
  `Run ${PROGRAM} migrate${schema === 'delay_queue' ? '' : ` --schema ${schema}`}.`;

interface Remedy {
  level: typeof notice;
  means: string;
  todo: string;
  /** Undefined: there is none; null: `migrate` does it. */
  sql?: ((schema: string, drift: Drift) => string | undefined) | null;
}

const FAILS = 'Statements that need it fail.';
const at = (schema: string, name: string): string => `"${schema}".${name}`;
const alter =
  (change: (drift: Drift) => string | undefined) =>
  (schema: string, drift: Drift): string | undefined => {
    const done = change(drift);
    return done && `ALTER TABLE ${at(schema, drift.of)} ${done}`;
  };

/** What a difference means, and what mends it. */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  'column missing': { level: problem, means: FAILS, todo: '', sql: null },
  'column changed': {
    level: problem,
    means: 'Statements may fail, or do something else.',
    todo: 'Change it back as the owner of the tables.',
    sql: alter(columnSql),
  },
  'column added': {
    level: notice,
    means: 'No statement of this version reads or fills it. A later version may have added it.',
    todo: 'Nothing, unless it was added by mistake.',
  },
  'index missing': {
    level: problem,
    means: 'Statements that need it read the whole table.',
    todo: '',
    sql: null,
  },
  'index changed': {
    level: problem,
    means: 'Statements that need it read the whole table, or fail.',
    todo: 'Build it again.',
    sql: (schema, { name, is, shouldBe }) =>
      is === `${shouldBe} NOT VALID`
        ? `REINDEX INDEX CONCURRENTLY ${at(schema, name)}`
        : `DROP INDEX ${at(schema, name)}; ${shouldBe.replace(' ON ', ` ON "${schema}".`)}`,
  },
  'index added': {
    level: notice,
    means: 'Each write pays for it; one on columns that a claim changes ends HOT updates.',
    todo: 'If nothing of yours needs it, drop it.',
    sql: (schema, { name }) => `DROP INDEX ${at(schema, name)}`,
  },
  'constraint missing': {
    level: notice,
    means: 'It refuses rows that no node can read; each such row is set aside instead.',
    todo: '',
    sql: null,
  },
  'constraint changed': {
    level: problem,
    means: 'It may let rows pass that no node can read, or refuse what the library writes.',
    todo: 'Put it back as the owner of the tables.',
    sql: alter(({ name, is, shouldBe }) =>
      is === `${shouldBe} NOT VALID`
        ? `VALIDATE CONSTRAINT ${name}`
        : `DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} ${shouldBe}`,
    ),
  },
  'constraint added': {
    level: problem,
    means: 'It may refuse what the library writes: schedule or an attempt fails.',
    todo: 'Drop it.',
    sql: alter(({ name }) => `DROP CONSTRAINT ${name}`),
  },
  'foreign key added': {
    level: problem,
    means: 'A delay that the other table refers to cannot end: its completion fails.',
    todo: 'Drop it there, and keep the name and key of the delay instead.',
  },
  'function missing': { level: problem, means: FAILS, todo: '', sql: null },
  'function changed': {
    level: problem,
    means: 'It does something else, or with the rights of another role.',
    todo: '',
    sql: null,
  },
  'function added': {
    level: problem,
    means: 'It may be called instead of the one of the library.',
    todo: 'Drop it.',
    sql: (schema, { name }) =>
      `DROP FUNCTION ${at(schema, name.replaceAll('timestamptz', 'pg_catalog.timestamptz'))}`,
  },
  'sequence changed': {
    level: problem,
    means: 'Ids may come twice or in another order, or run out.',
    todo: 'Put it back as the owner of the tables.',
    sql: alter(
      ({ name, shouldBe }) =>
        `ALTER ${name} ${shouldBe
          .replace(/^\w+ /, '')
          .replaceAll(/([A-Z]+) (\d+)/g, 'SET $1 $2')} SET NO CYCLE`,
    ),
  },
  'trigger added': {
    level: notice,
    means: 'It runs in each write of the library, and can change, refuse or drop it.',
    todo: 'If it is not yours, drop it.',
    sql: (schema, { of, name }) => `DROP TRIGGER "${name}" ON ${at(schema, of)}`,
  },
  'rule added': {
    level: problem,
    means: 'The library writes something else than it says, or nothing.',
    todo: 'Drop it.',
    sql: (schema, { of, name }) => `DROP RULE "${name}" ON ${at(schema, of)}`,
  },
  'policy added': {
    level: notice,
    means: 'With row-level security on, a role would not see some rows.',
    todo: 'Drop it.',
    sql: (schema, { of, name }) => `DROP POLICY "${name}" ON ${at(schema, of)}`,
  },
};

/** Statements that cannot be left out: a column that every INSERT has to fill, a second key. */
const isInTheWay = ({ kind, how, is }: Drift): boolean =>
  how === 'added' &&
  ((kind === 'column' && is.includes(' NOT NULL') && !/ GENERATED | DEFAULT /.test(is)) ||
    (kind === 'index' && is.startsWith('CREATE UNIQUE')));

const IN_THE_WAY: Remedy = {
  level: problem,
  means: 'The library does not know it, and its statements break it: schedule fails.',
  todo: 'Drop it, or let a column have a default.',
};

/** The text of a function is told as far as a person can read it. */
function changed(is: string, shouldBe: string): string {
  if (is === `${shouldBe} NOT VALID`) return 'is not valid';
  const [now, wanted] = [is, shouldBe].map((text) => text.replace(/ text [0-9a-f]{16}$/, ''));
  return now === wanted && now !== is
    ? 'is changed: its text is that of another version'
    : `is changed: ${now}, should be ${wanted}`;
}

function driftFinding(schema: string, drift: Drift): Finding {
  const { kind, of, name, how, is, shouldBe } = drift;
  const key = `${kind} ${how}`;
  const usual = REMEDIES[key];
  const remedy = isInTheWay(drift) ? { ...usual, ...IN_THE_WAY } : usual;
  const isPrimary = shouldBe.startsWith('PRIMARY KEY');
  const what = `the ${isPrimary ? 'primary key' : kind} ${/column|sequence/.test(kind) ? `${of}.${name}` : name}`;
  const told = {
    missing: 'is missing',
    changed: changed(is, shouldBe),
    added: `on ${of} is not of the library${is && `: ${is}`}`,
  }[how];
  const level = isPrimary ? problem : (remedy?.level ?? notice);
  const sql = remedy?.sql?.(schema, drift);
  return level('drift', `${what} ${told}`, {
    means: remedy?.means ?? '',
    todo: remedy?.sql === null ? migrateIn(schema) : (remedy?.todo ?? ''),
    ...(sql !== undefined && { sql }),
  });
}
