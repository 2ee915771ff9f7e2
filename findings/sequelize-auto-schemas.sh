#!/usr/bin/env bash
# Guessed: of two tables of one name in two schemas, sequelize-auto writes two models.
# Seen: it reads every schema unless told one, writes both models to one file, orders.js, and calls that
#   file twice.
# With: sequelize-auto@0.8.8, sequelize@6.37.8, pg@8.23.1, @electric-sql/pglite@0.5.14,
#   @electric-sql/pglite-socket@0.2.17. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --legacy-peer-deps --loglevel error \
  sequelize-auto@0.8.8 sequelize@6.37.8 pg@8.23.1 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
const db = await PGlite.create();
await db.exec(`CREATE TABLE orders (id int PRIMARY KEY); CREATE SCHEMA audit; CREATE TABLE audit.orders (at timestamptz, what text)`);
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
const port = new URL(url).port;
await run('sequelize-auto', '-h', '127.0.0.1', '-p', port, '-d', 'postgres', '-u', 'postgres', '-x', 'x',
  '--dialect', 'postgres', '-o', 'models');
const all = await readFile('models/init-models.js', 'utf8');
const seen = { files: (await readdir('models')).sort(), calls: all.match(/^.*require\(".\/.*$/gm) };
const line = 'var _orders = require("./orders");';
const stated = { files: ['init-models.js', 'orders.js'], calls: [line, line] };
await server.stop();
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
