import { expect, it } from '@jest/globals';
import { Cluster, KEEPS_LEASES } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const PERIOD_MS = 1_000;
const INSTANTS = 3;

const cluster = new Cluster();

const tick: Served = { does: 'note', repeat: { every: PERIOD_MS, catchUp: 'each' } };

const TICKS = {
  'test.plain': tick,
  'test.fenced': { ...tick, fenced: true, timeout: '2s' },
} as const satisfies Record<string, Served>;
const NAMES = ['test.plain', 'test.fenced'] as const;

it('a process killed in runs of what recurs loses no instant, and no later one waits for it for good', async () => {
  const victim = await cluster.worker('victim', {
    'test.plain': { ...TICKS['test.plain'], does: 'hold' },
    'test.fenced': { ...TICKS['test.fenced'], does: 'hold' },
  });
  await victim.waitFor(() => victim.messages.filter(({ holding }) => holding).length === 2);
  const held = await cluster.sql<{ name: string; due: Date }>(
    'SELECT name, due_at AS due FROM delay_queue.delay',
  );
  await victim.kill('SIGKILL');
  await cluster.worker('heir', TICKS, KEEPS_LEASES);
  for (const name of NAMES) {
    const lines = await cluster.until<{ due: Date; node: string; attempt: number }>(
      'SELECT due, node, attempt FROM ledger WHERE name = $1 ORDER BY due',
      ({ length }) => length >= INSTANTS,
      [name],
    );
    const firstMs = held.find((row) => row.name === name)!.due.getTime();
    expect(lines.slice(0, INSTANTS)).toEqual(
      Array.from({ length: INSTANTS }, (_, n) => ({
        due: new Date(firstMs + n * PERIOD_MS),
        node: 'heir',
        attempt: n === 0 ? 2 : 1,
      })),
    );
  }
});
