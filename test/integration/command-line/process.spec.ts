import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from './support/database.js';

/** The program as a process of its own; what `run` does in this process is tested beside this file. */
const ROOT = new URL('../../../', import.meta.url);
const MAIN = fileURLToPath(new URL('src/delay-queue/cli/main.ts', ROOT));
const LOADER = new URL('tools/swc-loader.mjs', ROOT).href;

const database = openDatabase();

interface Exit {
  code: number | null;
  out: string;
  err: string;
}

/** @param onErr called with all that came on the standard error output */
async function program(
  args: string[],
  env: Record<string, string>,
  onErr: (err: string, kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<Exit> {
  const { DATABASE_URL: _, ...rest } = process.env;
  const child = spawn(process.execPath, ['--import', LOADER, MAIN, ...args], {
    env: { ...rest, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit: Exit = { code: null, out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (exit.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    exit.err += text;
    onErr(exit.err, (signal) => child.kill(signal));
  });
  [exit.code] = (await once(child, 'close')) as [number | null];
  return exit;
}

it('the program connects by the variables of pg, prints a document, and ends', async () => {
  const { hostname, port, username, password, pathname } = new URL(database.url);
  const ran = await program(['status', '--json'], {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: pathname.slice(1),
  });
  expect(ran).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(ran.out)).toEqual({ names: [], nodes: [], pauses: [] });
});

it('its version is that of the package', async () => {
  const { code, out } = await program(['--version'], {});
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/) });
});

/** Addresses of all modules that it loads, as V8's coverage has them. */
async function loadedBy(args: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'loaded-'));
  try {
    await program(args, { NODE_V8_COVERAGE: folder, DATABASE_URL: database.url });
    // The loader's thread writes a file of its own.
    const files = await readdir(folder);
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
    return [...texts.join('').matchAll(/"url":"([^"]+)"/g)].map(([, url]) => url).join('\n');
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('help, and a refusal of wrong usage, load neither TypeORM nor the driver', async () => {
  const [typeorm, driver] = [/typeorm/, /node_modules\/pg\//];
  for (const args of [['--help'], ['cancel', '--help'], ['cancle'], ['list', '--nmae', 'a']]) {
    const loaded = await loadedBy(args);
    expect(loaded).toMatch(/\/cli\/parse\.ts/);
    expect([args, typeorm.exec(loaded), driver.exec(loaded)]).toEqual([args, null, null]);
  }
  const loaded = await loadedBy(['status']);
  expect([typeorm.test(loaded), driver.test(loaded)]).toEqual([false, true]);
});

it('SIGINT ends a change between two pages, with what was done', async () => {
  // The second page waits for this row.
  await database.query(`INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at)
    SELECT 'order.close', n::text, '{}', now() + interval '1 year', now() + interval '1 year', now()
    FROM generate_series(1, 2500) AS n`);
  await database.query('BEGIN');
  await database.query(`SELECT FROM delay_queue.delay WHERE key = '1500' FOR UPDATE`);
  let isSent = false;
  const args = ['cancel', '--name', 'order.close', '--yes', '--json'];
  const { code, out } = await program(args, { DATABASE_URL: database.url }, (err, kill) => {
    if (isSent || !err.includes('1,000 of 2,500')) return;
    isSent = true;
    kill('SIGINT');
    void database.query('ROLLBACK');
  });
  expect(code).toBe(130);
  const { matched, interrupted } = JSON.parse(out);
  expect({ interrupted, matched }).toEqual({ interrupted: true, matched: expect.any(Number) });
  const { rows } = await database.query('SELECT count(*)::int AS left FROM delay_queue.delay');
  expect(rows).toEqual([{ left: 2_500 - matched }]);
});
