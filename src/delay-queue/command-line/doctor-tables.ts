import { raiseIdsSql } from '../database/driver-errors.js';
import { hasDeadRows, hasWideIndexes, type RelationRow } from '../store/sql/server.sql.js';
import { type Catalogued, type Drift, driftOf } from '../store/tables/drift.js';
import { PROGRAM } from './commands.js';
import { type Finding, notice, ok, problem } from './finding.js';
import { grouped } from './output.js';

/** Tables, columns, indexes, constraints and functions, compared with the migrations. */
export function driftFindings(schema: string, found: readonly Catalogued[]): Finding[] {
  const drift = driftOf(schema, found);
  const tables = drift.filter(({ kind, how }) => kind === 'table' && how === 'missing');
  const total = found.filter(({ kind }) => kind === 'table').length;
  const missing = tables.map(({ what }) => what).join(', ');
  return [
    ...(tables.length > 0
      ? [
          problem(
            'drift',
            total === 0 ? `the schema ${schema} has no tables` : `tables are missing: ${missing}`,
            {
              means: 'No node starts.',
              todo: `Run ${PROGRAM} migrate${schema === 'delay_queue' ? '' : ` --schema ${schema}`}, or name the right schema.`,
            },
          ),
        ]
      : []),
    ...drift
      .filter(({ kind, how }) => !(kind === 'table' && how === 'missing'))
      // All functions of a schema without tables are missing, too.
      .filter(({ kind }) => !(kind === 'function' && total === 0))
      .map((each) => driftFinding(schema, each)),
    ...(drift.length === 0
      ? [
          ok(
            'drift',
            'the tables, indexes, constraints and functions are as the migrations make them',
          ),
        ]
      : []),
    ...optionFindings(schema, found),
  ];
}

function driftFinding(schema: string, { kind, what, how, detail }: Drift): Finding {
  const migrate = `Run ${PROGRAM} migrate${schema === 'delay_queue' ? '' : ` --schema ${schema}`}.`;
  const name = `the ${kind} ${what}`;
  if (how === 'invalid' && kind === 'index') {
    return problem('drift', `${name} is not valid`, {
      means: 'Postgres does not use it: its creation was cut off.',
      todo: 'Build it again.',
      sql: `REINDEX INDEX CONCURRENTLY "${schema}".${what}`,
    });
  }
  if (how === 'invalid') {
    return notice('drift', `${name} is not validated`, {
      means: 'Older rows may break it.',
      todo: 'Validate it.',
    });
  }
  if (how === 'missing' && kind === 'index') {
    return problem('drift', `${name} is missing`, {
      means: 'Statements that need it read the whole table.',
      todo: migrate,
    });
  }
  if (how === 'missing' && kind === 'primary key') {
    return problem('drift', `${name} is missing`, {
      means: 'Statements that need it fail, or read the whole table, and a row may be there twice.',
      todo: 'Add it as the migrations do: migrate --dry-run shows how.',
    });
  }
  if (how === 'missing' && kind === 'constraint') {
    return notice('drift', `${name} is missing`, {
      means: 'It refuses rows that no node can read; each such row is set aside instead.',
      todo: 'Drop the table while it is empty and migrate, or add the constraint by hand.',
    });
  }
  if (how === 'added') {
    return problem('drift', `${name} (${detail}) is not of the library`, {
      means: 'It has to be filled, and no statement of the library fills it: schedule fails.',
      todo: 'Drop the column, or give it a default.',
    });
  }
  if (how === 'changed') {
    return problem('drift', `${name} is changed: ${detail}`, {
      means: 'Statements may fail, or do something else.',
      todo: kind === 'function' ? migrate : 'Change it back as the owner of the tables.',
    });
  }
  return problem('drift', `${name} is missing`, {
    means: 'Statements that need it fail.',
    todo:
      kind === 'function' ? migrate : 'Add it as the migrations do: migrate --dry-run shows how.',
  });
}

const AUTOVACUUM_OFF = /autovacuum_enabled=(?:false|off|0|no)\b/i;

/** What the tables are set to. */
function optionFindings(schema: string, found: readonly Catalogued[]): Finding[] {
  return found
    .filter(({ kind }) => kind === 'table')
    .flatMap(({ name, is, flag, filled }) => [
      ...(AUTOVACUUM_OFF.test(is)
        ? [
            problem('autovacuum', `autovacuum is off for ${name}`, {
              means: 'Nothing removes its dead rows: it only grows.',
              todo: 'Turn it on.',
              sql: `ALTER TABLE "${schema}".${name} RESET (autovacuum_enabled)`,
            }),
          ]
        : []),
      ...(flag === 'false'
        ? [
            problem('durability', `${name} is an unlogged table`, {
              means: 'After a crash of the server it is empty.',
              todo: 'Make it a logged one.',
              sql: `ALTER TABLE "${schema}".${name} SET LOGGED`,
            }),
          ]
        : []),
      ...(filled === 'true'
        ? [
            problem('row-security', `row-level security is on for ${name}`, {
              means: 'A role would not see some rows, or could not write them: no node starts.',
              todo: 'Turn it off, or give the role BYPASSRLS.',
              sql: `ALTER TABLE "${schema}".${name} DISABLE ROW LEVEL SECURITY`,
            }),
          ]
        : []),
    ]);
}

/** By the same limits as the reason `bloated` of a node's health. */
export function sizeFindings(schema: string, relations: readonly RelationRow[]): Finding[] {
  const findings: Finding[] = [];
  for (const relation of relations) {
    const { table, rows, deadRows, indexBytes, vacuumedAt } = relation;
    if (hasDeadRows(relation)) {
      const found = `${table} has ${grouped(deadRows)} dead rows beside ${grouped(rows)} live ones`;
      findings.push(
        notice('dead-rows', found, {
          means: `Scans pass over them. Last vacuum: ${vacuumedAt ?? 'never'}.`,
          todo: 'If this does not fall by itself, look for a held snapshot; then vacuum.',
          sql: `VACUUM (VERBOSE) "${schema}".${table}`,
        }),
      );
    }
    if (hasWideIndexes(relation)) {
      const mebibytes = grouped(Math.round(indexBytes / 1_048_576));
      const found = `the indexes of ${table} have ${mebibytes} MiB for ${grouped(rows)} rows`;
      findings.push(
        notice('bloat', found, {
          means: 'Their pages are mostly empty. They are used again when the table grows.',
          todo: 'To give the space back, build them again; everything goes on meanwhile.',
          sql: `REINDEX TABLE CONCURRENTLY "${schema}".${table}`,
        }),
      );
    }
  }
  return findings.length === 0 ? [ok('size', 'there are few dead rows, and no bloat')] : findings;
}

/** From the check of a start, whose errors say what to do. */
export function idsFinding(error: unknown, advice: readonly string[], schema: string): Finding[] {
  if (error !== undefined) {
    return [
      problem('identity', (error as Error).message, {
        means: 'schedule would meet an id that is taken, and fail.',
        todo: 'Raise the ids as the owner of the tables.',
        sql: raiseIdsSql(schema),
      }),
    ];
  }
  if (advice.length > 0) return advice.map((text) => notice('identity', text));
  return [ok('identity', 'the next id is behind all ids')];
}
