import type { LeftOut } from './support/run-tests.js';

/** Tests that cannot hold behind a pooler in transaction mode, each with its reason. */
export const notThroughPgBouncer: LeftOut[] = [
  { file: 'servers/', why: 'starts servers of its own, and stands behind no pooler in any run' },
  {
    file: 'integration/engine/late-listener.spec.ts',
    test: 'a hint that is heard while the node still starts does it no harm',
    why: 'waits for a hint, and nothing is heard without LISTEN',
  },
  {
    file: 'integration/engine/presence.spec.ts',
    test: 'a node whose lock is held by a session of its past does not say that it holds one, so that its heartbeats count',
    why: 'waits until the node claims presence, which it does not without LISTEN',
  },
  ...['of the engine', 'of the engine and of the application'].map((whose) => ({
    file: 'integration/engine/trouble.spec.ts',
    test: `sessions that are ended again and again ${whose}: nothing is lost, no transactional effect is doubled`,
    why: "ends sessions by their client's name, and a pooler lends those to the test itself; servers/pgbouncer.spec.ts does the same behind one",
  })),
  {
    file: 'cluster/hints.spec.ts',
    test: 'a process that only schedules is heard at once, and what it says to nobody is loaded',
    why: 'waits for hints, and nothing is heard without LISTEN',
  },
  {
    file: 'integration/engine/module.spec.ts',
    test: 'a start is refused when transactions are not READ COMMITTED by default',
    why: "makes them so with the startup parameter `options`, which PgBouncer refuses; the library's own are not refused",
  },
  {
    file: 'integration/engine/timeouts.spec.ts',
    test: 'a transactional handler that never returns gives its connection back to the pool, however often it happens',
    why: 'tells connections apart by their server process, and a pooler shares those',
  },
  {
    file: 'cluster/shutdown.spec.ts',
    test: 'SIGTERM twice, during a claim, with handlers in flight: all of it is given back, no attempt is spent',
    why: 'holds back a claim by an advisory lock of a session of its own, which a pooler may lend to that claim',
  },
];
