import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const STORE = 'src/delay-queue/store';

/** The clock itself, and what a node that runs nothing by itself never sends: it prunes nothing. */
const OWN = new Set([
  'sql/fragments/clock.ts',
  'sql/history.sql.ts',
  'sql/testing.sql.ts',
  'tables/test-clock.ts',
]);
const PRUNED = /WHERE [qp]\.(filled_at|until) < \(SELECT pg_catalog\.clock_timestamp\(\) - \$1/;

it('every statement takes the time from its tables, so that a test has one clock', () => {
  const files = readdirSync(STORE, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !OWN.has(file));
  expect(files.length).toBeGreaterThan(30);
  const found = files.flatMap((file) =>
    readFileSync(join(STORE, file), 'utf8')
      .split('\n')
      .filter((line) =>
        /clock_timestamp\(\)|(?<!performance\.|get )\bnow\(\)|current_timestamp/i.test(line),
      )
      .filter((line) => !/^\s*(\*|\/\*|\/\/)/.test(line) && !PRUNED.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
