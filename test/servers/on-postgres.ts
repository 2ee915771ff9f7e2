/**
 * Runs the tests on another version of Postgres than the embedded one, by the folder of its programs:
 *
 *     node --import ./tools/swc-loader.mjs test/servers/on-postgres.ts /usr/lib/postgresql/15/bin
 *
 * What follows the folder goes to Jest. Debian has one version, its PGDG repository all of them; for
 * those of npm see `matrix.ts`.
 */
import { resolve } from 'node:path';
import { UNDURABLE } from '../support/test-server.js';
import { OwnServer, programsIn } from './support/own-server.js';
import { runTests } from './support/run-tests.js';

const [programs, ...jestArguments] = process.argv.slice(2);
if (programs === undefined) throw new Error('which Postgres? Give the folder of its programs');
const server = await OwnServer.create(UNDURABLE, programsIn(resolve(programs)));
try {
  await server.start();
  const leftOut = [
    { file: 'servers/', why: 'starts servers of its own, of the embedded version in any run' },
  ];
  process.exitCode = await runTests(server.url, leftOut, jestArguments);
} finally {
  await server.remove();
}
