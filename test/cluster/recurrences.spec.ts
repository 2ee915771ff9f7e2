import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Cluster } from './support/cluster.js';
import type { Served } from './support/worker.protocol.js';

const NAME = 'test.tick';
const PERIOD_MS = 1_000;

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(() => cluster.close());

it.each([
  ['plain', {}],
  ['transactional', { fenced: true, timeout: '2s' }],
] as const)(
  'a process killed in a run of a %s handler loses no instant, and no later one waits for it for good',
  async (_, kind) => {
    const tick: Served = {
      does: 'note',
      ...kind,
      repeat: { every: PERIOD_MS, catchUp: 'each' },
    };
    const victim = await cluster.worker('victim', {
      serves: { [NAME]: { ...tick, does: 'hold' } },
    });
    await victim.waitFor(({ holding }) => holding !== undefined);
    const [held] = await cluster.sql<{ due: Date }>('SELECT due_at AS due FROM delay_queue.delay');
    await victim.kill('SIGKILL');
    await cluster.worker('heir', { serves: { [NAME]: tick } });
    const lines = await cluster.until<{ due: Date; node: string; attempt: number }>(
      'SELECT due, node, attempt FROM ledger ORDER BY due',
      ({ length }) => length > 4,
    );
    expect(lines[0]).toEqual({ due: held?.due, node: 'heir', attempt: 2 });
    const gaps = lines.slice(1).map(({ due }, n) => due.getTime() - lines[n]!.due.getTime());
    expect(new Set(gaps)).toEqual(new Set([PERIOD_MS]));
    expect(new Set(lines.map(({ node }) => node))).toEqual(new Set(['heir']));
  },
);
