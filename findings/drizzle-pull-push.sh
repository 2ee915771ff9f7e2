#!/usr/bin/env bash
# Guessed: `drizzle-kit push` of what `drizzle-kit pull` has just written changes nothing.
# Seen: for an identity column of type bigint it sends SET MAXVALUE 9223372036854776000, which Postgres
#   refuses (22003): pull has written 9223372036854775807 as a number of JavaScript, which rounds it.
#   The push that failed ends with exit code 0.
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
  dbCredentials: { url: process.env.DATABASE_URL! },
});
END
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { spawn } from 'node:child_process';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
const db = await PGlite.create();
await db.exec(`CREATE TABLE entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)`);
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
const { exitCode, output } = await run('drizzle-kit', 'push');
const seen = { exitCode, error: /^error: .*$/m.exec(output)?.[0] };
const stated = {
  exitCode: 0,
  error: 'error: value "9223372036854776000" is out of range for type bigint',
};
await server.stop();
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
