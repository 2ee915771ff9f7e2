import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LimitOptions, OnDelayOptions } from 'nestjs-delay-queue';
import {
  type DelayNode,
  fencedHandler,
  plainHandler,
  type Signal,
  signal,
} from '../support/delay-node.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';

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

async function run(group: string | null, wait: Promise<unknown>): Promise<void> {
  running.push(group ?? '');
  most = Math.max(most, running.length);
  await wait;
  running.splice(running.indexOf(group ?? ''), 1);
  done += 1;
}

type Limits = Pick<OnDelayOptions, 'global' | 'perGroup'>;

const startNode = (limits: Limits, make = plainHandler): Promise<DelayNode> =>
  stage.start({
    providers: [
      make(NAME, ({ group }) => run(group, gate.promise), { concurrency: 20, ...limits }),
      plainHandler('test.free', () => void (done += 1)),
    ],
  });

const schedule = (node: DelayNode, groups: readonly (string | undefined)[]): Promise<unknown> =>
  node.delays.scheduleMany(
    groups.map((group) => ({
      name: NAME,
      payload: null,
      after: 0,
      ...(group !== undefined && { group }),
    })),
  );

const many = (count: number, group?: string): (string | undefined)[] =>
  Array.from({ length: count }, () => group);

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
async function othersRan(node: DelayNode): Promise<void> {
  const before = done;
  for (let n = 1; n <= 20; n += 1) {
    await node.delays.schedule('test.free', null, { after: 0 });
    await areDone(before + n);
  }
  done = before;
}

describe('global concurrency', () => {
  it.each([
    ['plain', plainHandler],
    ['transactional', fencedHandler as typeof plainHandler],
  ])('holds on all nodes together, of %s handlers', async (_, make) => {
    const global = { concurrency: 3 };
    const nodes = [await startNode({ global }, make), await startNode({ global }, make)];
    await schedule(nodes[0] as DelayNode, many(200));
    await areRunning(3);
    await othersRan(nodes[1] as DelayNode);
    expect(running).toHaveLength(3);
    gate.resolve();
    await areDone(200);
    expect(most).toBeLessThanOrEqual(3);
    await stage.until('SELECT FROM delay_queue.delay', (left) => left.length === 0);
  });

  it('counts no claim whose lease is over, nor one that failed', async () => {
    await stage.sql(
      `INSERT INTO delay_queue.permit (id, epoch, name, group_id)
       SELECT n, 1, '${NAME}', '' FROM generate_series(1, 50) AS n`,
    );
    const node = await stage.start({
      providers: [
        plainHandler(
          NAME,
          ({ attempt }) => {
            if (attempt === 1) throw new Error('no');
            done += 1;
          },
          { global: { concurrency: 1 } },
        ),
      ],
    });
    await schedule(node, many(5));
    await areDone(5);
    expect(await stage.sql('SELECT FROM delay_queue.permit')).toHaveLength(1);
  });

  it('that a later version lowers lets nobody begin until enough are over', async () => {
    const before = await startNode({ global: { concurrency: 5 } });
    await schedule(before, many(10));
    await areRunning(5);
    const after = await startNode({ global: { concurrency: 2 } });
    gate.resolve();
    await areDone(10);
    expect(most).toBe(5);
    await before.stop();
    most = 0;
    gate = signal();
    await schedule(after, many(10));
    await areRunning(2);
    gate.resolve();
    await areDone(20);
    expect(most).toBe(2);
  });
});

describe('concurrency per group', () => {
  it('lets each group run as many, and those without a group all', async () => {
    const limits = { perGroup: { concurrency: 2 } };
    const nodes = [await startNode(limits), await startNode(limits)];
    await schedule(nodes[0] as DelayNode, many(10, 'a'));
    await areRunning(2);
    await schedule(nodes[0] as DelayNode, [...many(10, 'b'), ...many(5)]);
    await areRunning(9);
    await othersRan(nodes[0] as DelayNode);
    expect(running.toSorted().join('')).toBe('aabb');
    gate.resolve();
    await areDone(25);
  });

  it('is held together with that of the name', async () => {
    const node = await startNode({ global: { concurrency: 3 }, perGroup: { concurrency: 2 } });
    await schedule(node, [...many(10, 'a'), ...many(10, 'b'), ...many(10, 'c')]);
    await areRunning(3);
    await othersRan(node);
    expect(new Set(running).size).toBeGreaterThan(1);
    gate.resolve();
    await areDone(30);
    expect(most).toBe(3);
  });

  it.each([1, 2])('of one runs a group in the order of its due times: %d nodes', async (count) => {
    const order: [group: string | null, n: unknown][] = [];
    const heard = new Set<number>();
    const setupOf = (n: number) => ({
      providers: [
        plainHandler('test.free', () => void heard.add(n)),
        plainHandler(
          NAME,
          async ({ group, payload }) => {
            order.push([group, payload]);
            await new Promise(setImmediate);
            done += 1;
          },
          { concurrency: 20, perGroup: { concurrency: 1 } },
        ),
      ],
    });
    const nodes: DelayNode[] = [];
    for (let n = 0; n < count; n += 1) nodes.push(await stage.start(setupOf(n)));
    // Each has run something: the first one knows the second.
    await until(
      async () => {
        await nodes[0]?.delays.schedule('test.free', null, { after: 0 });
        return heard.size;
      },
      (size) => size === count,
    );
    const items = Array.from({ length: 60 }, (_, n) => ({
      name: NAME as 'test.limited',
      payload: n,
      after: Math.floor(n / 3),
      group: 'abc'.charAt(n % 3),
    }));
    await nodes[0]?.delays.scheduleMany(items);
    await areDone(60);
    for (const group of 'abc') {
      const its = order.filter(([of]) => of === group).map(([, n]) => Number(n));
      expect(its).toEqual(its.toSorted((a, b) => a - b));
    }
  });
});

/** When each began, on the database's clock. */
const begun = async (): Promise<number[]> => {
  const rows = await stage.sql<{ ms: string }>(
    `SELECT (extract(epoch FROM due_at) * 1000 + lateness_ms)::text AS ms FROM delay_queue.history
       ORDER BY 1`,
  );
  return rows.map(({ ms }) => Number(ms)).toSorted((a, b) => a - b);
};

describe('a rate', () => {
  it.each<[LimitOptions['rateLimit'] & object, number]>([
    [{ max: 10, per: '500ms' }, 25],
    [{ max: 100, per: '500ms' }, 300],
  ])('%j is never passed, on two nodes', async (rateLimit, count) => {
    gate.resolve();
    const nodes = [
      await startNode({ global: { rateLimit } }),
      await startNode({ global: { rateLimit } }),
    ];
    await schedule(nodes[0] as DelayNode, many(count));
    await areDone(count);
    await Promise.all(nodes.map((node) => node.stop()));
    const begins = await begun();
    expect(begins).toHaveLength(count);
    const tookMs = (begins.at(-1) ?? 0) - (begins[0] ?? 0);
    expect(count).toBeLessThanOrEqual(rateLimit.max * (Math.floor(tookMs / 500) + 1));
  });

  it('of each group holds up no other', async () => {
    gate.resolve();
    const node = await startNode({ perGroup: { rateLimit: { max: 1, per: '1d' } } });
    await schedule(node, [...many(5, 'a'), ...many(5, 'b'), ...many(3)]);
    await areDone(5);
    await othersRan(node);
    expect(done).toBe(5);
  });
});
