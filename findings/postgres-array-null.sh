#!/usr/bin/env bash
# Guessed: NULL in an array is null in JavaScript, and the text 'NULL' is a text.
# Seen: in text[] both are the text 'NULL'. In boolean[] NULL is false, in integer[] NaN, in timestamptz[] an Invalid
#   Date. An array that begins at another index than 1 gets a dimension more.
# With: postgres@3.4.9 on @electric-sql/pglite@0.5.14, served by @electric-sql/pglite-socket@0.2.17. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  postgres@3.4.9 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import postgres from 'postgres';
const server = new PGLiteSocketServer({ db: await PGlite.create(), port: 0, host: '127.0.0.1' });
let port;
server.addEventListener('listening', ({ detail }) => (port = detail.port));
await server.start();
const sql = postgres({ host: '127.0.0.1', port, username: 'postgres', database: 'postgres', max: 1 });
const [seen] = await sql`
  SELECT ARRAY['a', NULL, 'NULL'] AS texts, ARRAY[true, NULL] AS booleans, ARRAY[1, NULL] AS numbers,
         ARRAY[timestamptz '2026-01-01', NULL]::text AS sent, ARRAY[timestamptz '2026-01-01', NULL] AS instants,
         '[2:3]={a,b}'::text[] AS "from index 2"`;
seen.instants = seen.instants.map(String);
console.log(seen);
const stated = {
  texts: ['a', 'NULL', 'NULL'],
  booleans: [true, false],
  numbers: [1, NaN],
  sent: '{"2026-01-01 00:00:00+00",NULL}',
  instants: ['Thu Jan 01 2026 00:00:00 GMT+0000 (Coordinated Universal Time)', 'Invalid Date'],
  'from index 2': [['a', 'b']],
};
if (!isDeepStrictEqual({ ...seen }, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
