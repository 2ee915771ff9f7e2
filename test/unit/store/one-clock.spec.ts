import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const STORE = 'src/delay-queue/store';

/** Lines that may read the database's own clock, by file; each has to be found. */
const ALLOWED: readonly [file: string, line: RegExp][] = [
  // A test clock beside the database's: instants of callers, which are on the latter.
  ['sql/fragments/clock.ts', /isTested \? 'pg_catalog\.clock_timestamp\(\)' : 'clock\.now'/],
  ['sql/fragments/clock.ts', /isTested \? `\$\{instant\} \+ \(clock\.now - /],
  ['sql/testing.sql.ts', /\$\{instant\} - pg_catalog\.clock_timestamp\(\)/],
  ['sql/testing.sql.ts', /AS database_ms$/],
  // The test clock itself.
  ['tables/functions.ts', /^ {2}SELECT COALESCE\(\(SELECT COALESCE\(c\.stands_at/],
  ['tables/functions.ts', /^ +pg_catalog\.clock_timestamp\(\)\)$/],
  // Instants of the server's own sessions and transactions.
  ['sql/server.sql.ts', /const sinceMs = /],
  ['sql/doctor.sql.ts', /pg_catalog\.clock_timestamp\(\)/],
  // A node under test prunes nothing.
  ['sql/history.sql.ts', /\(SELECT pg_catalog\.clock_timestamp\(\) - \$\{ageMs\}/],
  ['sql/claim.sql.ts', /WHERE q\.filled_at < \(SELECT pg_catalog\.clock_timestamp\(\) - \$1/],
  ['sql/nodes.sql.ts', /WHERE p\.until < \(SELECT pg_catalog\.clock_timestamp\(\) - \$1/],
];

const CLOCK = /clock_timestamp\(\)|(?<!performance\.|get )\bnow\(\)|current_timestamp/i;

it('every statement takes the time from its tables, so that a test has one clock', () => {
  const files = readdirSync(STORE, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(25);
  const unseen = new Set(ALLOWED);
  const found = files.flatMap((file) =>
    readFileSync(join(STORE, file), 'utf8')
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
