import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { Nodes } from '../../../src/delay-queue/cluster/nodes.js';
import {
  groupNumber,
  groupNumberSql,
  spread,
  spreadSql,
} from '../../../src/delay-queue/store/wire/ownership.js';
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
    const none = { byGroup: [false, false], leftOut: [] };
    const shares = { names: ['x', 'y'], counts: [1, 2], ranks: [0, 1], ...none };
    expect(nodes.shares).toEqual(shares);
  });

  it('gives all of a group to one node, of the names that are owned by group', () => {
    const nodes = ['a', 'b', 'c'].map((self) => new Nodes(self, ['x', 'y'], new Set(['y'])));
    const all = ['a', 'b', 'c'].map((id) => [id, ['x', 'y']] as const);
    for (const [at, each] of nodes.entries()) each.update(all.toSpliced(at, 1));
    const ownersOf = (name: string, group: string | null): Set<number> =>
      new Set(
        Array.from({ length: 100 }, (_, id) =>
          nodes.findIndex((each) => each.owns(id + 1, name, group)),
        ),
      );
    const groups = Array.from({ length: 100 }, (_, n) => `shop ${n}`);
    const owners = groups.map((group) => [...ownersOf('y', group)]);
    expect(owners.every(({ length }) => length === 1)).toBe(true);
    expect(new Set(owners.flat())).toEqual(new Set([0, 1, 2]));
    expect(ownersOf('y', null).size).toBe(3);
    expect(ownersOf('x', 'shop 1').size).toBe(3);
    expect(nodes[0]?.shares.byGroup).toEqual([false, true]);
  });

  it('looks after nothing that is paused, and says so to the statements', () => {
    const nodes = new Nodes('b', ['x', 'y']);
    const pauses: [string, string, null][] = [
      ['x', '', null],
      ['y', 'g', null],
      ['z', 'g', null],
    ];
    expect(nodes.update([], pauses)).toBe(true);
    expect(nodes.shares).toMatchObject({
      counts: [1, 1],
      ranks: [-1, 0],
      byGroup: [false, false],
      leftOut: ['y g'],
    });
    expect([nodes.owns(1, 'x'), nodes.owns(1, 'y')]).toEqual([false, true]);
    expect([nodes.mayRun('x', null), nodes.mayRun('x', 'g')]).toEqual([false, false]);
    expect([nodes.mayRun('y', 'g'), nodes.mayRun('y', 'h'), nodes.mayRun('y', null)]).toEqual([
      false,
      true,
      true,
    ]);
    expect(nodes.update([], [])).toBe(true);
    expect([nodes.mayRun('x', 'g'), nodes.mayRun('y', 'g')]).toEqual([true, true]);
  });
});

describe('spread', () => {
  it('is the same in SQL as here, for every id that is an exact number, and for groups', async () => {
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
    const groups = ['a', 'shop "7"', 'ü', '漢字', '💸', 'x'.repeat(255)];
    const { rows: numbers } = await client.query<{ at: string }>(
      `SELECT ${groupNumberSql('g')}::text AS at FROM unnest($1::text[]) WITH ORDINALITY AS i(g, ord)
       ORDER BY ord`,
      [groups],
    );
    expect(numbers.map(({ at }) => Number(at))).toEqual(groups.map(groupNumber));
    await client.end();
    await database.drop();
    expect(rows.map(({ at }) => at)).toEqual(ids.map(spread));
  });
});
