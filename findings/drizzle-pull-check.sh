#!/usr/bin/env bash
# Guessed: a CHECK constraint that `drizzle-kit pull` writes is the one of the table.
# Seen: of one that is a single call, CHECK (isfinite(at)), it writes `CHECK (isfinite(at`, and the first
#   migration that `drizzle-kit generate` makes of it does not parse.
# With: drizzle-kit@0.31.11, drizzle-orm@0.45.4, pg@8.23.1, @electric-sql/pglite@0.5.14,
#   @electric-sql/pglite-socket@0.2.17. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --legacy-peer-deps --loglevel error \
  drizzle-kit@0.31.11 drizzle-orm@0.45.4 pg@8.23.1 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17
npm ls --depth 0 | tail -n +2
cat >drizzle.config.ts <<'END'
import { defineConfig } from 'drizzle-kit';
export default defineConfig({
  dialect: 'postgresql',
  schema: './drizzle/schema.ts',
  out: process.env.OUT ?? './drizzle',
  dbCredentials: { url: process.env.DATABASE_URL! },
});
END
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
const db = await PGlite.create();
await db.exec(`CREATE TABLE visit (
  at timestamptz CONSTRAINT is_instant CHECK (isfinite(at)),
  n int CONSTRAINT is_positive CHECK (n > 0)
)`);
const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1', maxConnections: 10 });
const listening = new Promise((resolve) => {
  server.addEventListener('listening', ({ detail }) => resolve(detail.port));
});
await server.start();
const url = `postgresql://postgres@127.0.0.1:${await listening}/postgres`;
const run = (...command) =>
  new Promise((resolve) => {
    const child = spawn('npx', command, {
      env: { ...process.env, DATABASE_URL: url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    child.on('close', (exitCode) => resolve({ exitCode, output }));
  });
await run('drizzle-kit', 'pull');
process.env.OUT = './new';
await run('drizzle-kit', 'generate', '--name', 'first');
const schema = await readFile('drizzle/schema.ts', 'utf8');
const migration = await readFile('new/0000_first.sql', 'utf8');
await db.exec('DROP TABLE visit');
const seen = {
  pulled: schema.match(/check\(.*/g),
  migrated: await db.exec(migration).then(
    () => 'created',
    ({ code }) => code,
  ),
};
const stated = {
  pulled: ['check("is_instant", sql`CHECK (isfinite(at`),', 'check("is_positive", sql`n > 0`),'],
  migrated: '42601',
};
await server.stop();
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
