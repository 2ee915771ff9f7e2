import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Cluster, type Worker } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

async function schedule(name: `test.${string}`, count: number, spreadMs: number): Promise<void> {
  const { delays } = await cluster.producer();
  await delays.scheduleMany(
    Array.from({ length: count }, (_, n) => ({
      name,
      payload: null,
      key: `${name}-${n}`,
      after: (n * spreadMs) / count,
    })),
  );
}

/** Lets everything that holds go on, now and later. */
function letGo(worker: Worker): void {
  let told = 0;
  const again = async (): Promise<void> => {
    while (worker.running) {
      const { holding } = await worker.waitFor((message) => {
        if (message.holding === undefined) return false;
        return worker.messages.filter((each) => each.holding).indexOf(message) >= told;
      });
      told += 1;
      worker.send({ go: holding });
    }
  };
  // Ends with the worker.
  void again().catch(() => {});
}

/** A fenced attempt's lease lasts its whole timeout, so that is how long a crash holds it back. */
const held: Served = { does: 'hold', concurrency: 4, timeout: '3s', backoff: { base: 10 } };

const SERVES: Record<`test.${string}`, Served> = {
  'test.plain': { does: 'note', concurrency: 20 },
  'test.fenced': { does: 'note', fenced: true, concurrency: 8 },
  'test.heldPlain': held,
  'test.heldFenced': { ...held, fenced: true },
};

it('a process killed with delays pending and in flight leaves nothing undone, and no transactional effect twice', async () => {
  const [victim, heir] = await Promise.all([
    cluster.worker('victim', { serves: SERVES }),
    cluster.worker('heir', { serves: SERVES }),
  ]);
  letGo(heir);
  const pending = schedule('test.plain', 500, 3_000).then(() =>
    schedule('test.fenced', 500, 3_000),
  );
  await schedule('test.heldPlain', 16, 0);
  await schedule('test.heldFenced', 16, 0);
  await victim.waitFor(({ holding }) => holding?.startsWith('test.heldPlain') === true);
  await victim.waitFor(({ holding }) => holding?.startsWith('test.heldFenced') === true);
  await pending;
  await victim.kill('SIGKILL');
  await cluster.quiet();

  const counts = await cluster.sql<{ name: string; delays: number; lines: number }>(
    `SELECT name, count(DISTINCT key)::int AS delays, count(*)::int AS lines
     FROM ledger GROUP BY name`,
  );
  const of = new Map(counts.map(({ name, ...rest }) => [name, rest]));
  expect(of.get('test.fenced')).toEqual({ delays: 500, lines: 500 });
  expect(of.get('test.heldFenced')).toEqual({ delays: 16, lines: 16 });
  // At least once: what was done but not yet acknowledged is done again.
  expect(of.get('test.plain')?.delays).toBe(500);
  expect(of.get('test.heldPlain')?.delays).toBe(16);
  const again = await cluster.sql<{ name: string; node: string }>(
    `SELECT DISTINCT name, node FROM delay_queue.history
     WHERE name LIKE 'test.held%' AND attempts > 1 ORDER BY name`,
  );
  expect(again).toEqual([
    { name: 'test.heldFenced', node: 'heir' },
    { name: 'test.heldPlain', node: 'heir' },
  ]);
  expect(await cluster.sql('SELECT key, last_error FROM delay_queue.delay')).toEqual([]);
});
