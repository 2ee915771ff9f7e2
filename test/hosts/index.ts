/**
 * `npm run test:hosts`: one application that takes the package from its tarball, under each agent, runtime and bundler. Each
 * is installed in a temporary folder, closes and pays orders, is killed, drains, and is judged by what Postgres has committed.
 * `zones` runs two releases of Node by turns on one queue.
 *
 *     npm run test:hosts                       # all
 *     npm run test:hosts -- --only bun,sentry  # some
 *
 * The tarball is made anew, with `--packed` it is the one in `dist`. One Postgres serves all: the embedded one, or `TEST_DATABASE_URL`.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { transformSync } from '@swc/core';
import { SWC_OPTIONS } from '../../tools/swc-options.mjs';
import { run } from '../apps/command.js';
import { newDatabase } from '../apps/new-database.js';
import { openTestServer } from '../support/test-server.js';
import { APPLICATION, type Host, HOSTS } from './hosts.js';
import { Trial } from './trial.js';
import { ZoneTrial } from './zone-trial.js';

const INSTALL = ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund'];

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = fileURLToPath(new URL('application', import.meta.url));

const { values } = parseArgs({
  options: { only: { type: 'string' }, packed: { type: 'boolean' } },
});
const chosen = HOSTS.filter(({ name }) => values.only?.split(',').includes(name) ?? true);
if (chosen.length === 0) throw new Error(`--only: of ${HOSTS.map(({ name }) => name).join(', ')}`);

if (!values.packed) await run(['npm', 'run', 'package'], ROOT, {});
const { version }: { version: string } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const tarball = join(ROOT, `dist/nestjs-delay-queue-${version}.tgz`);
const workshop = mkdtempSync(join(tmpdir(), 'delay-queue-hosts-'));
const server = await openTestServer();
const failed: string[] = [];
try {
  for (const host of chosen) {
    const beganAtMs = performance.now();
    const error = await tried(host);
    if (error !== undefined) failed.push(host.name);
    const seconds = ((performance.now() - beganAtMs) / 1_000).toFixed(1);
    console.log(`${host.name}: ${host.what}: ${error ?? `holds, ${seconds} s`}`);
  }
} finally {
  await server.stop();
  rmSync(workshop, { recursive: true, force: true });
}
console.log(`${chosen.length - failed.length} hold, ${failed.length} do not ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @returns what went wrong; undefined: nothing */
async function tried(host: Host): Promise<string | undefined> {
  try {
    const folder = make(host);
    await run(INSTALL, folder, {});
    if (host.build !== undefined) await run(host.build, folder, {});
    const url = await newDatabase(server.url, `host_${host.name.replaceAll('-', '_')}`);
    const { turns } = host;
    await (
      turns ? new ZoneTrial({ ...host, turns }, folder, url) : new Trial(host, folder, url)
    ).run();
    return undefined;
  } catch (error) {
    return `FAILED\n${error instanceof Error ? error.stack : String(error)}`;
  }
}

/** Outside of the repository, whose packages it would find. @returns its folder */
function make({ name, packages, turns, module = 'commonjs' }: Host): string {
  const folder = join(workshop, name);
  mkdirSync(join(folder, 'dist'), { recursive: true });
  cpSync(tarball, join(folder, 'nestjs-delay-queue.tgz'));
  cpSync(SOURCES, folder, { recursive: true });
  const manifest = {
    name,
    type: module === 'es6' ? 'module' : 'commonjs',
    private: true,
    dependencies: { ...APPLICATION, ...packages },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  const source = readFileSync(join(folder, turns ? 'zones.ts' : 'main.ts'), 'utf8');
  const { code } = transformSync(source, {
    ...SWC_OPTIONS,
    module: { type: module },
    swcrc: false,
  });
  writeFileSync(join(folder, 'dist/main.js'), code);
  return folder;
}
