import { readCatalogue, delayQueueMigrations, migrationStatements } from '../core/ops.js';
import { judgeTables } from '../ops/checks/tables.js';
import { print } from './output.js';
import { schemaFrom, withSession } from './session.js';
import { type CommandContext, EXIT, type ExitCode } from './terminal.js';

/** Creates what is missing. Not by TypeORM's list of migrations, which is the application's. */
export async function migrate(context: CommandContext): Promise<ExitCode> {
  const { given } = context;
  const schema = schemaFrom(given);
  if (given.has('dry-run')) {
    const statements = [SAFE_PATH, ...migrationStatements(schema)];
    print(context, { schema, statements }, () => toScript(statements));
    return EXIT.DONE;
  }
  const problems = await withSession(context, async ({ dataSource }) => {
    const runner = dataSource.createQueryRunner();
    try {
      for (const Migration of delayQueueMigrations({ schema })) await new Migration().up(runner);
      const findings = judgeTables(schema, await readCatalogue(runner, schema));
      return findings.filter(({ level }) => level === 'problem');
    } finally {
      await runner.release();
    }
  });
  const isAll = problems.length === 0;
  print(context, { schema, migrated: true, problems }, () =>
    [
      `The schema ${schema} has all tables${isAll ? '' : '. Not as the migrations make them:'}`,
      ...problems.map(({ found }) => `  ${found}`),
      ...(isAll ? [] : ['doctor says what mends that']),
    ]
      .join('\n')
      .concat('.'),
  );
  return isAll ? EXIT.DONE : EXIT.FAILED;
}

/** As the migration does: every name without a schema is one of Postgres's own. */
const SAFE_PATH = 'SET LOCAL search_path = pg_catalog, pg_temp';

const toScript = (statements: readonly string[]): string =>
  ['BEGIN', ...statements.map((statement) => statement.trim()), 'COMMIT']
    .map((statement) => `${statement};`)
    .join('\n');
