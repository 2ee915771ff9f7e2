/**
 * Runs the database suites on each Postgres that is supported, with stock settings and with those of a
 * hostile administrator:
 *
 *     npm run test:matrix
 *     npm run test:matrix -- --only 15 --settings hostile
 *     npm run test:matrix -- --only 15 --focused
 *     npm run test:matrix -- --only /usr/lib/postgresql/15/bin test/integration/kept-plans
 *
 * Beside npm's, which have no JIT compiler, it takes the servers that a distribution has installed. `--only` takes majors, or
 * folders with programs of one's own.
 * What else is given goes to Jest. Ends with a table, and not well when anything failed.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { locateBinaries } from '../../src/embedded-postgres/binaries.js';
import { UNDURABLE } from '../support/test-server.js';
import { grantHostile, NODE_ROLE } from './support/hostile-role.js';
import { OwnServer, programsIn } from './support/own-server.js';
import { fetchPostgres, VERSIONS } from './support/postgres-of-npm.js';
import { type LeftOut, runTests } from './support/run-tests.js';

const SUITES = ['test/integration', 'test/hostile', 'test/security'];

/** What a version or a setting of the server has broken before, and the engine as such. */
const FOCUSED = [
  'test/integration/engine/(?:attempts|begin|leases|module|orphans|outcomes|presence|scanner|session|tight-role)',
  'test/integration/kept-plans',
  'test/integration/migrations',
  'test/integration/foreign-settings',
  'test/integration/round-trip',
  'test/integration/verdicts',
  'test/integration/plans',
  'test/integration/admin-plans',
  'test/integration/dashboard/plans',
];

const ON_EMBEDDED: LeftOut[] = ['embedded-postgres', 'chaos-server', 'chaos-faults', 'bench/'].map(
  (file) => ({ file: `integration/${file}`, why: 'is about the embedded server, in any run' }),
);

interface Result {
  server: string;
  settings: string;
  version: string;
  passed: string;
  seconds: number;
  isGood: boolean;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true },
    settings: { type: 'string', multiple: true, default: ['stock', 'hostile'] },
    focused: { type: 'boolean', default: false },
    workers: { type: 'string', default: '2' },
  },
});
const suites = values.focused ? FOCUSED : SUITES;
const chosen = positionals.length > 0 ? positionals : suites;

async function runOn(server: string, settings: string): Promise<Result> {
  const root = server in VERSIONS ? fetchPostgres(server) : undefined;
  const locate = root === undefined ? programsIn(resolve(server)) : undefined;
  const own = await OwnServer.create(UNDURABLE, locate ?? ((user) => locateBinaries(user, root)));
  const beganAtMs = performance.now();
  let summary = 'nothing ran';
  try {
    await own.start();
    const [row] = await own.sql<{ version: string }>('SHOW server_version');
    if (settings === 'hostile') await grantHostile(own);
    const code = await runTests(own.url, ON_EMBEDDED, [...chosen, '-w', values.workers], {
      env: settings === 'hostile' ? { TEST_NODE_ROLE: NODE_ROLE } : {},
      onOutput: (text) => {
        process.stdout.write(text);
        summary = /^\d+ passed, \d+ failed.*$/m.exec(text)?.[0] ?? summary;
      },
    });
    return {
      server,
      settings,
      version: (row?.version ?? '').split(' ')[0] ?? '',
      passed: summary,
      seconds: Math.round((performance.now() - beganAtMs) / 1_000),
      isGood: code === 0,
    };
  } finally {
    await own.remove();
  }
}

/** Servers of a distribution, as it ships them. */
const INSTALLED = '/usr/lib/postgresql';

function withJit(): string[] {
  const majors = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const folders = majors
    .map((major) => join(INSTALLED, major, 'bin'))
    .filter((folder) => existsSync(join(folder, 'initdb')));
  if (folders.length === 0) {
    process.stderr.write(
      `NOT RUN: no server with a JIT compiler, which npm's have not: none is installed below ${INSTALLED}\n`,
    );
  }
  return folders;
}

const servers = values.only ?? [...Object.keys(VERSIONS), ...withJit()];
const results: Result[] = [];
for (const server of servers) {
  for (const settings of values.settings) {
    process.stdout.write(
      `\n=== ${results.length + 1} of ${servers.length * values.settings.length}: Postgres ${server}, ${settings} settings\n`,
    );
    results.push(await runOn(server, settings));
  }
}

const lines = results.map(({ version, settings, passed, seconds, isGood }) =>
  [
    isGood ? 'ok    ' : 'FAILED',
    version.padEnd(6),
    settings.padEnd(8),
    passed,
    `in ${seconds} s`,
  ].join('  '),
);
process.stdout.write(`\n${lines.join('\n')}\n`);
process.exitCode = results.every(({ isGood }) => isGood) ? 0 : 1;
