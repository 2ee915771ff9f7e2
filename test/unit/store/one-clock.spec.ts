import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LIBRARY = 'src/delay-queue';
/** Where statements are written. */
const STATEMENTS = /^core\/store\/|^ops\/.*\.sql\.ts$/;

/** Lines that may read the database's own clock, by file; each has to be found. */
const ALLOWED: readonly [file: string, line: RegExp][] = [
  // A test clock beside the database's: instants of callers, which are on the latter.
  [
    'core/store/sql/fragments/clock.ts',
    /isTested \? 'pg_catalog\.clock_timestamp\(\)' : 'clock\.now'/,
  ],
  ['core/store/sql/fragments/clock.ts', /isTested \? `\$\{instant\} \+ \(clock\.now - /],
  ['core/store/sql/testing.sql.ts', /\$\{instant\} - pg_catalog\.clock_timestamp\(\)/],
  ['core/store/sql/testing.sql.ts', /AS database_ms$/],
  // The test clock itself.
  ['core/store/tables/functions.ts', /^ {2}SELECT COALESCE\(\(SELECT COALESCE\(c\.stands_at/],
  ['core/store/tables/functions.ts', /^ +pg_catalog\.clock_timestamp\(\)\)$/],
  // Instants of the server's own sessions and transactions.
  ['ops/checks/vacuum.sql.ts', /const sinceMs = /],
  ['ops/checks/server.sql.ts', /pg_catalog\.clock_timestamp\(\)/],
  // A node under test prunes nothing.
  ['core/store/sql/history.sql.ts', /\(SELECT pg_catalog\.clock_timestamp\(\) - \$\{ageMs\}/],
];

const CLOCK = /clock_timestamp\(\)|(?<!performance\.|get )\bnow\(\)|current_timestamp/i;

it('every statement takes the time from its tables, so that a test has one clock', () => {
  const files = readdirSync(LIBRARY, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && STATEMENTS.test(file));
  expect(files.length).toBeGreaterThan(25);
  const unseen = new Set(ALLOWED);
  const found = files.flatMap((file) =>
    readFileSync(join(LIBRARY, file), 'utf8')
      .split('\n')
      .filter((line) => CLOCK.test(line) && !/^\s*(\*|\/\*|\/\/)/.test(line))
      .filter((line) => {
        const allowed = ALLOWED.find(([of, text]) => of === file && text.test(line));
        if (allowed !== undefined) unseen.delete(allowed);
        return allowed === undefined;
      })
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect([found, [...unseen]]).toEqual([[], []]);
});
