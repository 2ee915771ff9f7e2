import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { OnDelay } from 'nestjs-delay-queue';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import { Nodes, NodeStore } from '../../support/engine-parts.js';

const stage = stageOfEach();

const namesOf = (count: number): `test.${string}`[] =>
  Array.from({ length: count }, (_, n): `test.${string}` => `test.name-${n}`);

/** So many delays, one of each name after the other, due a minute ago. */
const overdue = (names: readonly string[], count: number): Promise<unknown> =>
  stage.sql(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT ($1::text[])[1 + n % cardinality($1::text[])], 'null', at, at, at
     FROM generate_series(1, $2::int) n, LATERAL (SELECT now() - interval '1 minute' AS at) AS due`,
    [names, count],
  );

/** One provider with a handler for each. */
function handlerOfAll(names: readonly `test.${string}`[], run: (name: string) => void): Type {
  class ManyHandlers {}
  const { prototype } = ManyHandlers;
  for (const name of names) {
    const handler = { value: () => run(name), configurable: true, writable: true };
    Object.defineProperty(prototype, name, handler);
    OnDelay(name)(prototype, name, handler);
  }
  return ManyHandlers;
}

it.each([1, 32, 33])(
  'the shares of a node are told by a load and a sweep for %d names alike',
  async (count) => {
    const names = [...namesOf(count - 1), 'test.__proto__'];
    await overdue([...names, 'test.nobody'], 3_000);
    const nodes = new Nodes('b', names);
    // Of the even names there is another node.
    nodes.update([['a', names.filter((_, at) => at % 2 === 0)]]);
    const indexes: unknown[] = [];
    const runner = {
      query: <Row>(text: string, parameters: unknown[]) => {
        const [, index] = /\$(\d+)::jsonb IS NULL/.exec(text) ?? [];
        indexes.push(parameters[Number(index) - 1]);
        return stage.sql(text, parameters) as Promise<Row[]>;
      },
    };
    const store = new NodeStore(runner, 'delay_queue', 'b');
    const rows = await stage.sql<{ id: string; name: string }>(
      'SELECT id, name FROM delay_queue.delay',
    );
    const own = rows
      .filter(({ id, name }) => nodes.owns(Number(id), name))
      .map(({ id }) => Number(id));
    expect(own.length).toBeLessThan(rows.length);
    const load = { horizonMs: 0, limit: 5_000, peersWithinMs: 0, isPresent: false, instance: 'i' };
    const sweep = { scan: 5_000, limit: 5_000, helpAfterMs: null, aheadMs: 0 };
    const pages = [
      await store.load(nodes.shares, { wakeMs: 0, id: 0 }, load),
      await store.sweep(nodes.shares, null, sweep),
    ];
    for (const { wakes } of pages) expect(wakes.map(({ id }) => id)).toEqual(own);
    // Many names are not looked through for each row.
    expect(indexes.map((index) => index !== null)).toEqual([count > 32, count > 32]);
    const helped = await store.sweep(nodes.shares, null, { ...sweep, helpAfterMs: 1_000 });
    expect(helped.wakes.map(({ name }) => name)).not.toContain('test.nobody');
    expect(helped.wakes).toHaveLength(rows.filter(({ name }) => name !== 'test.nobody').length);
  },
);

it('a thousand names run on two nodes, the delays of each name once', async () => {
  const names = namesOf(1_000);
  const runs: string[] = [];
  const ran = (count: number): Promise<number> =>
    until(
      () => runs.length,
      (length) => length === count,
    );
  await overdue(names, names.length);
  for (const nodeName of ['a', 'b']) {
    const providers = [handlerOfAll(names, (name) => runs.push(name))];
    await stage.start({ providers, options: { nodeName } });
  }
  await ran(names.length);
  expect(new Set(runs).size).toBe(names.length);
  // What is new goes its way beside them.
  await overdue(names, 2 * names.length);
  await ran(3 * names.length);
});
