import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { livingProcesses } from '../support/living-processes.js';
import { until } from '../support/until.js';

const ROOT = new URL('../../', import.meta.url);
const shell = process.platform === 'win32';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  [database, folder] = [await createEmptyDatabase(), await mkdtemp(join(tmpdir(), 'npm-starts-'))];
});

afterAll(async () => {
  await rm(folder, { recursive: true });
  await database.drop({ force: true });
});

/** A package of its own, whose script is that of `npm start`: on the sources, as nothing is built here. */
async function npmStart(flags: string) {
  const loader = new URL('tools/swc-loader.mjs', ROOT).href;
  const main = fileURLToPath(new URL('src/main.ts', ROOT));
  const start = `"${process.execPath}" --import ${loader} "${main}" ${flags}`;
  await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts: { start } }));
  const npm = spawn('npm', ['start'], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: database.url, PORT: '0' },
    // A group of its own, to be ended whatever becomes of it.
    detached: true,
    shell,
  });
  livingProcesses().add(npm);
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (data: Buffer) => (output += data.toString()));
  }
  return { npm, output: () => output };
}

it.each([
  ['the shop and its processes', '', /The shop is open/],
  ['the shop of one process', '--prod', /The shop listens on/],
])('a SIGTERM to npm ends %s', async (_, flags, opened) => {
  const { npm, output } = await npmStart(flags);
  // Whoever lives holds the output that all of them have inherited.
  const allEnded = once(npm, 'close').then(() => 'ended');
  let outcome = 'running';
  try {
    await until(output, (text) => opened.test(text));
    npm.kill('SIGTERM');
    void allEnded.then((how) => (outcome = how));
    const seen = await until(
      () => outcome,
      (how) => how === 'ended',
    );
    expect(seen).toBe('ended');
  } finally {
    if (outcome === 'running') process.kill(-npm.pid!, 'SIGKILL');
    await allEnded;
    livingProcesses().delete(npm);
  }
});
