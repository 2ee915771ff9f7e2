import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OnDelayOptions } from 'nestjs-delay-queue';
import {
  type DelayNode,
  fencedHandler,
  plainHandler,
  type Signal,
  signal,
} from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';
import { NodeStore } from '../support/engine-parts.js';

const NAME = 'test.limited';

let stage: Stage;
/** Groups that run now, and how many ran at most. */
let running: string[];
let most: number;
let done: number;
/** Each handler waits for it. */
let gate: Signal<void>;

beforeEach(async () => {
  stage = await Stage.open();
  [running, most, done] = [[], 0, 0];
  gate = signal();
});

afterEach(async () => {
  gate.resolve();
  await stage.close();
});

async function run({ group }: { group: string | null }): Promise<void> {
  running.push(group ?? '');
  most = Math.max(most, running.length);
  await gate.promise;
  running.splice(running.indexOf(group ?? ''), 1);
  done += 1;
}

const failsFirst = ({ attempt }: { attempt: number }): void => {
  if (attempt === 1) throw new Error('no');
  done += 1;
};

type Limits = Pick<OnDelayOptions, 'global' | 'perGroup'>;

const startNode = (limits: Limits, make = plainHandler): Promise<DelayNode> =>
  stage.start({
    providers: [
      make(NAME, run, { concurrency: 20, ...limits }),
      plainHandler('test.free', () => void (done += 1)),
    ],
  });

async function twoNodes(limits: Limits, make = plainHandler): Promise<DelayNode> {
  const node = await startNode(limits, make);
  await startNode(limits, make);
  return node;
}

const schedule = (node: DelayNode, count: number, group?: string): Promise<unknown> => {
  const item = { name: NAME, payload: null, after: 0, group } as const;
  return node.delays.scheduleMany(Array.from({ length: count }, () => item));
};

const areRunning = (count: number): Promise<unknown> =>
  until(
    () => running.length,
    (length) => length === count,
  );

const areDone = (count: number): Promise<unknown> =>
  until(
    () => done,
    (length) => length === count,
  );

/** Whoever could have begun by now has: others that came later ran. */
async function othersRan({ delays }: DelayNode): Promise<void> {
  const before = done;
  for (let n = 1; n <= 10; n += 1) {
    await delays.schedule('test.free', null, { after: 0 });
    await areDone(before + n);
  }
  done = before;
}

describe('global concurrency', () => {
  it.each([
    ['plain', plainHandler],
    ['transactional', fencedHandler as typeof plainHandler],
  ])('holds on all nodes together, of %s handlers', async (_, make) => {
    const node = await twoNodes({ global: { concurrency: 3 } }, make);
    await schedule(node, 80);
    await areRunning(3);
    await othersRan(node);
    expect(running).toHaveLength(3);
    gate.resolve();
    await areDone(80);
    expect(most).toBeLessThanOrEqual(3);
    await stage.until('SELECT FROM delay_queue.delay', (left) => left.length === 0);
  });

  it('counts no claim whose lease is over, nor one that failed', async () => {
    await stage.sql(
      `INSERT INTO delay_queue.permit (id, epoch, name, group_id)
       SELECT n, 1, '${NAME}', '' FROM generate_series(1, 50) AS n`,
    );
    // Ids that are taken do not come again.
    await stage.sql(`SELECT setval(pg_get_serial_sequence('delay_queue.delay', 'id'), 50)`);
    const limits = { global: { concurrency: 1 } };
    const node = await stage.start({ providers: [plainHandler(NAME, failsFirst, limits)] });
    await schedule(node, 3);
    await areDone(3);
    expect(await stage.sql('SELECT FROM delay_queue.permit')).toHaveLength(1);
  });

  it('leaves nothing behind of groups that never come again', async () => {
    gate.resolve();
    const node = await startNode({ perGroup: { concurrency: 2 } });
    for (const group of 'abc') await schedule(node, 1, group);
    await areDone(3);
    await stage.noneLeft();
    gate = signal();
    await schedule(node, 1, 'runs');
    await areRunning(1);
    const query = <Row>(sql: string, parameters: unknown[]): Promise<Row[]> =>
      node.dataSource.query(sql, parameters);
    const store = new NodeStore({ query }, 'delay_queue', 'test');
    expect(await store.forgetPermits(2)).toBe(2);
    await store.forgetPermits(100);
    expect(await stage.sql('SELECT group_id FROM delay_queue.permit')).toEqual([
      { group_id: 'runs' },
    ]);
  });

  it('that a later version lowers lets nobody begin until enough are over', async () => {
    const before = await startNode({ global: { concurrency: 5 } });
    await schedule(before, 5);
    await areRunning(5);
    const after = await startNode({ global: { concurrency: 2 } });
    await schedule(after, 5);
    await othersRan(after);
    expect(running).toHaveLength(5);
    gate.resolve();
    await areDone(10);
    await before.stop();
    [most, gate] = [0, signal()];
    await schedule(after, 5);
    await areRunning(2);
    gate.resolve();
    await areDone(15);
    expect(most).toBe(2);
  });
});

describe('concurrency per group', () => {
  it('lets each group run as many, and those without a group all', async () => {
    const node = await twoNodes({ perGroup: { concurrency: 2 } });
    await schedule(node, 10, 'a');
    await areRunning(2);
    await schedule(node, 10, 'b');
    await schedule(node, 5);
    await areRunning(9);
    await othersRan(node);
    expect(running.toSorted().join('')).toBe('aabb');
    gate.resolve();
    await areDone(25);
  });

  it('is held together with that of the name', async () => {
    const node = await startNode({ global: { concurrency: 3 }, perGroup: { concurrency: 2 } });
    for (const group of 'abc') await schedule(node, 5, group);
    await areRunning(3);
    await othersRan(node);
    expect(new Set(running).size).toBeGreaterThan(1);
    gate.resolve();
    await areDone(15);
    expect(most).toBe(3);
  });

  it.each([1, 2])('of one runs a group in the order of its due times: %d nodes', async (count) => {
    const order: string[] = [];
    const heard = new Set<number>();
    const nodes: DelayNode[] = [];
    for (let n = 0; n < count; n += 1) {
      const ordered = async ({ group, payload }: { group: string | null; payload: unknown }) => {
        order.push(`${group}${String(payload)}`);
        await new Promise(setImmediate);
        done += 1;
      };
      const limits = { concurrency: 20, perGroup: { concurrency: 1 } };
      const free = plainHandler('test.free', () => void heard.add(n));
      nodes.push(await stage.start({ providers: [free, plainHandler(NAME, ordered, limits)] }));
    }
    const { delays } = nodes[0]!;
    // Each has run something: the first one knows the second.
    await until(
      async () => {
        await delays.schedule('test.free', null, { after: 0 });
        return heard.size;
      },
      (size) => size === count,
    );
    const groups = ['a', 'b', 'c'];
    const items = Array.from({ length: 20 }, (_, n) =>
      groups.map((group) => ({ name: NAME, payload: 10 + n, after: n, group }) as const),
    );
    await delays.scheduleMany(items.flat());
    await areDone(60);
    for (const group of groups) {
      const its = order.filter((one) => one.startsWith(group));
      expect(its).toEqual(its.toSorted());
    }
  });
});

describe('a rate', () => {
  it('is never passed, on two nodes', async () => {
    gate.resolve();
    const [max, perMs, count] = [10, 500, 25];
    const node = await twoNodes({ global: { rateLimit: { max, per: perMs } } });
    await schedule(node, count);
    await areDone(count);
    // When they began, on the database's clock.
    const ended = await stage.until<{ took_ms: string; count: number }>(
      `SELECT (max(began_ms) - min(began_ms))::text AS took_ms, count(*)::int
       FROM delay_queue.history,
            LATERAL (SELECT extract(epoch FROM due_at) * 1000 + lateness_ms::numeric) b(began_ms)`,
      ([all]) => all?.count === count,
    );
    const periods = Math.floor(Number(ended[0]?.took_ms) / perMs) + 1;
    expect(count).toBeLessThanOrEqual(max * periods);
  });

  it('beside a limit of those that run holds nobody back as long as it has room', async () => {
    gate.resolve();
    const rateLimit = { max: 600, per: '1h' } as const;
    const node = await startNode({ perGroup: { concurrency: 1, rateLimit } });
    // More than half of what such a rate lets begin at once.
    await schedule(node, 20, 'a');
    await areDone(20);
    expect(most).toBe(1);
  });

  it('counts for nothing what a clock says that was set back', async () => {
    gate.resolve();
    const node = await startNode({ global: { rateLimit: { max: 600, per: '1h' } } });
    await schedule(node, 1);
    await areDone(1);
    await stage.sql(`UPDATE delay_queue.quota SET filled_at = clock_timestamp() + interval '1 h'`);
    await schedule(node, 1);
    await areDone(2);
    expect(running).toEqual([]);
  });

  it('of each group holds up no other', async () => {
    gate.resolve();
    const node = await startNode({ perGroup: { rateLimit: { max: 1, per: '1d' } } });
    for (const group of ['a', 'b', undefined]) await schedule(node, 3, group);
    await areDone(5);
    await othersRan(node);
    expect(done).toBe(5);
  });
});
