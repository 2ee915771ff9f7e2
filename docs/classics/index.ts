/**
 * `npm run classics`: the same orders on each classic design, under the same faults, and what it cost.
 *
 *     npm run classics -- scan ours     # some of them
 *     npm run classics -- --guarded     # with a close that is a compare-and-set
 */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';
import { livingProcesses } from '../../test/support/living-processes.js';
import { calculations } from './arithmetic.js';
import { DESIGNS, designNames, FAULTS, type DesignName, type Outcome } from './designs.js';
import { runFaults, type Outcomes } from './faults.js';

/** What a design's own ticks take is no fault. */
const LATE_FROM_MS = 250;

const words = process.argv.slice(2);
const guarded = words.includes('--guarded');
const asked = words.filter((word) => word !== '--guarded');
const unknown = asked.filter((word) => !(word in DESIGNS));
if (unknown.length > 0) {
  console.error(`There is no design ${unknown.join(', ')}: one of ${designNames.join(', ')}.`);
  process.exit(1);
}
// A process that is stopped just now would not hear of our end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of livingProcesses()) child.kill('SIGKILL');
    process.exit(1);
  });
}
const chosen = asked.length > 0 ? (asked as DesignName[]) : designNames;

function told({ closedThoughPaid, lost, double, lateMs }: Outcome): string {
  const parts = [
    closedThoughPaid > 0 && `${closedThoughPaid} closed though paid`,
    lost > 0 && `${lost} lost`,
    double > 0 && `${double} double`,
    lateMs >= LATE_FROM_MS && `${(lateMs / 1_000).toFixed(1)} s late`,
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(', ') : '–';
}

function table(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [header, ...body] = rows;
  return [line(header!), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join(
    '\n',
  );
}

console.log(`${chosen.length} designs, real processes, kill -9 and SIGSTOP; half a minute …\n`);
const server = await startEmbeddedPostgres({
  dataDir: join(tmpdir(), `delay-queue-classics-${randomBytes(5).toString('hex')}`),
  settings: { max_connections: 300 },
  temporary: true,
});
try {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const runs: Promise<[DesignName, Outcomes]>[] = [];
  for (const design of chosen) {
    const url = new URL(server.url);
    url.pathname = `/classic_${design.replaceAll('-', '_')}`;
    await client.query(`CREATE DATABASE ${url.pathname.slice(1)}`);
    runs.push(runFaults({ design, url: url.href, guarded }).then((outcomes) => [design, outcomes]));
  }
  await client.end();
  // All of them end, and stop their processes, before one's failure is told.
  await Promise.allSettled(runs);
  const outcomes = await Promise.all(runs);
  console.log(
    table([
      ['design', ...FAULTS],
      ...outcomes.map(([design, of]) => [
        DESIGNS[design].title,
        ...FAULTS.map((fault) => told(of[fault])),
      ]),
    ]),
  );
  console.log('\nAnd by its own clock, nothing else going wrong:\n');
  console.log(
    table([
      ['design', 'asked for', 'fires after'],
      ...calculations().map(({ what, askedS, firedS }) => [what, `${askedS} s`, `${firedS} s`]),
    ]),
  );
} finally {
  await server.stop();
}
