#!/usr/bin/env bash
# Guessed: `drizzle-kit push` asks before it drops what holds a state, as it does for tables with rows.
# Seen: a sequence that the schema does not name, here one that numbers invoices, goes without a question,
#   also without a terminal that could answer one.
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
  schema: './schema.ts',
  dbCredentials: { url: process.env.DATABASE_URL! },
});
END
cat >schema.ts <<'END'
import { pgTable, serial, text } from 'drizzle-orm/pg-core';
export const orders = pgTable('orders', { id: serial().primaryKey(), status: text() });
END
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { spawn } from 'node:child_process';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
const db = await PGlite.create();
await db.exec(`CREATE SEQUENCE invoice_number; SELECT setval('invoice_number', 1000)`);
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
const { exitCode, output } = await run('drizzle-kit', 'push');
const { rows } = await db.query(`SELECT to_regclass('invoice_number')::text AS sequence`);
const seen = { exitCode, last: output.trim().split('\n').at(-1), sequence: rows[0].sequence };
const stated = { exitCode: 0, last: '[✓] Changes applied', sequence: null };
await server.stop();
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
