/**
 * Runs the tests with PgBouncer in transaction mode between them and the server:
 *
 *     node --import ./tools/swc-loader.mjs test/servers/through-pgbouncer.ts [Jest's arguments]
 *
 * Databases are made and dropped on `postgres`, which is pooled by session, as an operator would do
 * it; all others are pooled by transaction, for the tests as for the nodes in them.
 */
import { openTestServer } from '../support/test-server.js';
import { notThroughPgBouncer } from './not-through-pgbouncer.js';
import { PgBouncer } from './support/pgbouncer.js';
import { runTests } from './support/run-tests.js';

/** Small, so that clients do share their sessions. */
const POOL_SIZE = 20;

/**
 * A test fails when connections are left on its database, and those that PgBouncer keeps are not its
 * own: they go as soon as nobody uses them.
 */
const SERVER_IDLE_SECONDS = 0.1;

if (PgBouncer.program() === undefined) {
  throw new Error('pgbouncer is not installed (Debian: apt install pgbouncer)');
}
const server = await openTestServer();
try {
  const bouncer = await PgBouncer.start({
    serverUrl: server.url,
    poolSize: POOL_SIZE,
    sessionDatabases: [new URL(server.url).pathname.slice(1)],
    serverIdleSeconds: SERVER_IDLE_SECONDS,
  });
  try {
    process.exitCode = await runTests(bouncer.url, notThroughPgBouncer, process.argv.slice(2));
  } finally {
    await bouncer.stop();
  }
} finally {
  await server.stop();
}
