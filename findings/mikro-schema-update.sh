#!/usr/bin/env bash
# Guessed: `mikro-orm schema:update --run` that fails has changed nothing: DDL of Postgres is transactional,
#   and its migrations do run in a transaction.
# Seen: it drops the tables of a second schema, then fails at the schema itself, which has a function left.
#   The tables are gone.
# With: @mikro-orm/cli@7.1.11, @mikro-orm/core@7.1.11, @mikro-orm/postgresql@7.1.11,
#   @electric-sql/pglite@0.5.14, @electric-sql/pglite-socket@0.2.17. Node 22.17 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm pkg set type=module
npm install --no-audit --no-fund --ignore-scripts --legacy-peer-deps --loglevel error \
  @mikro-orm/cli@7.1.11 @mikro-orm/core@7.1.11 @mikro-orm/postgresql@7.1.11 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17
npm ls --depth 0 | tail -n +2
cat >mikro-orm.config.js <<'END'
import { defineConfig, EntitySchema } from '@mikro-orm/postgresql';
const properties = { id: { type: 'number', primary: true } };
export default defineConfig({
  clientUrl: process.env.DATABASE_URL,
  entities: [new EntitySchema({ name: 'Order', tableName: 'orders', properties })],
});
END
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { spawn } from 'node:child_process';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
const db = await PGlite.create();
await db.exec(`CREATE SCHEMA audit; CREATE TABLE audit.entry (id int); INSERT INTO audit.entry VALUES (1);
CREATE FUNCTION audit.entries() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'`);
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
const { exitCode, output } = await run('mikro-orm', 'schema:update', '--run');
const { rows } = await db.query(`SELECT to_regclass('audit.entry')::text AS entry`);
const seen = { exitCode, refused: /code: '(\w+)'/.exec(output)?.[1], entry: rows[0].entry };
const stated = { exitCode: 1, refused: '2BP01', entry: null };
await server.stop();
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
