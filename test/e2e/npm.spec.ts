import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase } from '../support/database.js';
import { livingProcesses } from '../support/living-processes.js';
import { until } from '../support/until.js';

const ROOT = new URL('../../', import.meta.url);
const LOADER = new URL('tools/swc-loader.mjs', ROOT).href;
const MAIN = fileURLToPath(new URL('src/main.ts', ROOT));

/** What `npm run start:prod` runs, but the sources, as nothing is built here. */
const SCRIPTS = { start: `"${process.execPath}" --import ${LOADER} "${MAIN}" --prod` };

it('a SIGTERM to npm ends the shop that it runs', async () => {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'npm-starts-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts: SCRIPTS }));
  const npm = spawn('npm', ['start'], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: database.url, PORT: '0' },
    // A group of its own, to be ended whatever becomes of it.
    detached: true,
    shell: process.platform === 'win32',
  });
  livingProcesses().add(npm);
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (data: Buffer) => (output += data.toString()));
  }
  // Whoever lives holds the output that all of them have inherited.
  let isOver = false;
  const over = once(npm, 'close').then(() => (isOver = true));
  try {
    await until(
      () => output,
      (text) => text.includes('The shop listens on'),
    );
    const [at] = /127\.0\.0\.1:\d+/.exec(output)!;
    const sample = await fetch(`http://${at}/sample-provider`, {
      headers: { connection: 'close' },
    });
    expect(sample.status).toBe(404);
    npm.kill('SIGTERM');
    await until(
      () => isOver,
      (ended) => ended,
    );
  } finally {
    if (!isOver) process.kill(-npm.pid!, 'SIGKILL');
    await over;
    livingProcesses().delete(npm);
    await rm(folder, { recursive: true });
    await database.drop({ force: true });
  }
  expect(isOver).toBe(true);
});
