#!/usr/bin/env bash
# Guessed: `typeorm schema:drop` drops the tables of the entities, or those of their schemas.
# Seen: it drops every table of the schema that is current, `public` here, although no entity is in it.
# With: typeorm@1.1.1, pg@8.23.1, reflect-metadata@0.2.2, @electric-sql/pglite@0.5.14,
#   @electric-sql/pglite-socket@0.2.17. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --legacy-peer-deps --loglevel error \
  typeorm@1.1.1 pg@8.23.1 reflect-metadata@0.2.2 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17
npm ls --depth 0 | tail -n +2
cat >source.mjs <<'END'
import { DataSource, EntitySchema } from 'typeorm';
const columns = { id: { type: Number, primary: true, generated: true } };
const order = new EntitySchema({ name: 'Order', schema: 'shop', columns });
export default new DataSource({
  type: 'postgres',
  url: process.env.DATABASE_URL,
  entities: [order],
});
END
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { spawn } from 'node:child_process';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
const db = await PGlite.create();
await db.exec(`CREATE TABLE public.ledger (id int); CREATE SCHEMA shop; CREATE SCHEMA audit; CREATE TABLE audit.entry (id int)`);
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
await run('typeorm', 'schema:sync', '-d', 'source.mjs');
const tables = async () => {
  const { rows } = await db.query(
    `SELECT schemaname || '.' || tablename AS name FROM pg_tables
     WHERE schemaname IN ('public', 'shop', 'audit') ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};
const before = await tables();
await run('typeorm', 'schema:drop', '-d', 'source.mjs');
const seen = { before, after: await tables() };
const stated = { before: ['audit.entry', 'public.ledger', 'shop.order'], after: ['audit.entry'] };
await server.stop();
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
