/**
 * `npm run test:apps`: applications that take the package from its tarball, each with the set-up that
 * Nest's own starters have. Each closes an order and runs one test of its own.
 *
 *     npm run test:apps                          # all
 *     npm run test:apps -- --gate                # those of `npm run ci`
 *     npm run test:apps -- --only nest12-esm     # some, with commas between them
 *
 * The tarball is made anew, with `--packed` it is the one in `dist`. One Postgres serves all: the embedded one, or `TEST_DATABASE_URL`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openTestServer } from '../support/test-server.js';
import { type Application, APPLICATIONS } from './applications.js';
import { run } from './command.js';
import { newDatabase } from './new-database.js';
import { stepsOf, Workshop } from './workshop.js';

/** Most of the time an application waits for the registry. */
const AT_ONCE = 3;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { values } = parseArgs({
  options: { gate: { type: 'boolean' }, only: { type: 'string' }, packed: { type: 'boolean' } },
});
const chosen = APPLICATIONS.filter(({ name, inGate }) => {
  if (values.only !== undefined) return values.only.split(',').includes(name);
  return !values.gate || inGate;
});
if (chosen.length === 0) {
  throw new Error(`--only: one of ${APPLICATIONS.map(({ name }) => name).join(', ')}`);
}

if (!values.packed) await run(['npm', 'run', 'package'], ROOT, {});
const { version }: { version: string } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const workshop = new Workshop(join(ROOT, `dist/nestjs-delay-queue-${version}.tgz`));
const server = await openTestServer();
const failed: string[] = [];
try {
  const waiting = chosen.values();
  await Promise.all(Array.from({ length: AT_ONCE }, () => tryEach(waiting)));
} finally {
  await server.stop();
  workshop.remove();
}
console.log(`${chosen.length - failed.length} applications work, ${failed.length} do not`);
for (const name of failed) console.log(`  ${name}: npm run test:apps -- --only ${name}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Takes one after the other; what is said of an application stands together. */
async function tryEach(waiting: Iterable<Application>): Promise<void> {
  for (const application of waiting) {
    const said = [`${application.name}: ${application.what}`];
    if (!(await works(application, said))) failed.push(application.name);
    console.log(said.join('\n'));
  }
}

/** Installs and tries one, and says how long each step took. */
async function works(application: Application, said: string[]): Promise<boolean> {
  const folder = workshop.make(application);
  const url = await newDatabase(server.url, `app_${application.name.replaceAll('-', '_')}`);
  for (const { what, command } of stepsOf(application, folder)) {
    const beganAtMs = performance.now();
    try {
      await run(command, folder, { DATABASE_URL: url });
    } catch (error) {
      said.push(`    ${what} FAILED\n${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
    said.push(`    ${what} ${((performance.now() - beganAtMs) / 1_000).toFixed(1)} s`);
  }
  return true;
}
