#!/usr/bin/env bash
# Guessed: a timestamptz is an instant, whatever the time zone of the server's sessions.
# Seen: the adapter drops the offset in what it reads, and sends a Date without one. With TimeZone = 'Asia/Tokyo', set for
#   the server, the database or the role, noon in UTC is read as 21:00 in UTC, and written as 03:00.
# With: prisma@7.10.1, @prisma/client@7.10.0 and @prisma/adapter-pg@7.10.1 on @electric-sql/pglite@0.5.14, served by
#   @electric-sql/pglite-socket@0.2.17. Node 20.19 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  prisma@7.10.1 @prisma/client@7.10.0 @prisma/adapter-pg@7.10.1 @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17
npm ls --depth 0 | tail -n +2
cat >schema.prisma <<'PRISMA'
generator client {
  provider = "prisma-client-js"
}
datasource db {
  provider = "postgresql"
}
model Order {
  id    Int      @id
  payBy DateTime @db.Timestamptz
}
PRISMA
# Else it would fetch an engine, which it does not use.
PRISMA_SCHEMA_ENGINE_BINARY=$(command -v node) npx prisma generate --schema schema.prisma >/dev/null
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { PrismaPg } from '@prisma/adapter-pg';
import client from '@prisma/client';
const db = await PGlite.create();
await db.exec(`
  CREATE TABLE "Order" (id int PRIMARY KEY, "payBy" timestamptz);
  INSERT INTO "Order" VALUES (1, '2026-01-01 12:00+00');
  SET TimeZone = 'Asia/Tokyo'`);
const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1' });
let port;
server.addEventListener('listening', ({ detail }) => (port = detail.port));
await server.start();
const connectionString = `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
const prisma = new client.PrismaClient({ adapter: new PrismaPg({ connectionString, max: 1 }) });
const { payBy } = await prisma.order.findUnique({ where: { id: 1 } });
await prisma.order.create({ data: { id: 2, payBy: new Date('2026-01-01T12:00:00Z') } });
const [{ written }] = await prisma.$queryRaw`
  SELECT ("payBy" AT TIME ZONE 'UTC')::text AS written FROM "Order" WHERE id = 2`;
const seen = { read: payBy.toISOString(), written };
console.log(seen);
const stated = { read: '2026-01-01T21:00:00.000Z', written: '2026-01-01 03:00:00' };
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
