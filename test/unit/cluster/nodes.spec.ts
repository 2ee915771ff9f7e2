import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { Nodes } from '../../../src/delay-queue/cluster/nodes.js';
import { spread, spreadSql } from '../../../src/delay-queue/store/wire/ownership.js';
import { createEmptyDatabase } from '../../support/database.js';

type Other = [id: string, names: string[]];

/** One view per node, each of all the others. */
function views(members: Record<string, string[]>): Nodes[] {
  const all: Other[] = Object.entries(members);
  return all.map(([self, names]) => {
    const nodes = new Nodes(self, names);
    nodes.update(all.filter(([id]) => id !== self));
    return nodes;
  });
}

describe('Nodes', () => {
  it('gives every id exactly one owner among the nodes that serve its name', () => {
    const nodes = views({ a: ['x', 'y'], b: ['x'], c: ['y', 'x'], d: ['z'] });
    for (let id = 1; id <= 5_000; id += 1) {
      expect(nodes.map((each) => each.owns(id, 'x')).filter(Boolean)).toHaveLength(1);
      expect(nodes.map((each) => each.owns(id, 'y')).filter(Boolean)).toHaveLength(1);
      expect(nodes[1]!.owns(id, 'y')).toBe(false);
      expect(nodes[3]!.owns(id, 'z')).toBe(true);
    }
  });

  it.each([1, 2, 3, 4, 6, 9])(
    'spreads ids in steps of %d fairly over three nodes: a shop makes three delays per order',
    (step) => {
      const nodes = views({ a: ['x'], b: ['x'], c: ['x'] });
      const owned = [0, 0, 0];
      const count = 30_000;
      for (let n = 0; n < count; n += 1) {
        const owner = nodes.findIndex((each) => each.owns(1_000_000 + n * step, 'x'));
        owned[owner] = (owned[owner] ?? 0) + 1;
      }
      for (const part of owned) {
        expect(part).toBeGreaterThan(count * 0.3);
        expect(part).toBeLessThan(count * 0.37);
      }
    },
  );

  it('knows whether it has peers, and whether the view changed', () => {
    const nodes = new Nodes('b', ['x', 'y']);
    expect(nodes.hasPeers).toBe(false);
    expect(nodes.update([['a', ['z']]])).toBe(false);
    expect(nodes.hasPeers).toBe(false);
    expect(nodes.update([['a', ['y']]])).toBe(true);
    expect(nodes.update([['a', ['y']]])).toBe(false);
    expect(nodes.hasPeers).toBe(true);
    expect(nodes.shares).toEqual({ names: ['x', 'y'], counts: [1, 2], ranks: [0, 1] });
  });
});

describe('spread', () => {
  it('is the same in SQL as here, for every id that is an exact number', async () => {
    const random = Array.from({ length: 2_000 }, () =>
      Math.floor(Math.random() * Number.MAX_SAFE_INTEGER),
    );
    const edges = [1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
    const ids = [...Array.from({ length: 1_000 }, (_, n) => n), ...edges, ...random];
    const database = await createEmptyDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ at: number }>(
      `SELECT ${spreadSql('id')}::int AS at FROM unnest($1::bigint[]) WITH ORDINALITY AS i(id, ord)
       ORDER BY ord`,
      [ids],
    );
    await client.end();
    await database.drop();
    expect(rows.map(({ at }) => at)).toEqual(ids.map(spread));
  });
});
