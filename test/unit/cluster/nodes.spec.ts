import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DelayEvents } from '../../../src/delay-queue/core/api/events.js';
import { Nodes } from '../../../src/delay-queue/core/cluster/nodes.js';
import { UnservedNames } from '../../../src/delay-queue/core/cluster/unserved-names.js';
import {
  groupNumber,
  groupNumberSql,
  spread,
  spreadSql,
} from '../../../src/delay-queue/core/store/rows/attempt-rows.js';
import { fileDatabase } from '../../support/file-database.js';

/** One view per node, each of all the others. */
function views(members: Record<string, string[]>, ownedByGroup = new Set<string>()): Nodes[] {
  const all = Object.entries(members);
  return all.map(([self, names]) => {
    const nodes = new Nodes(self, names, ownedByGroup);
    nodes.update(all.filter(([id]) => id !== self));
    return nodes;
  });
}

const IDS = Array.from({ length: 3_000 }, (_, n) => n + 1);

describe('of the nodes that serve a name', () => {
  it('each id has exactly one owner', () => {
    const nodes = views({ a: ['x', 'y'], b: ['x'], c: ['y', 'x'], d: ['z'] });
    const ownersOf = (id: number, name: string) =>
      nodes.flatMap((each, at) => (each.owns(id, name) ? ['abcd'[at]] : []));
    for (const id of IDS) {
      expect(ownersOf(id, 'x')).toEqual([expect.stringMatching(/[abc]/)]);
      expect(ownersOf(id, 'y')).toEqual([expect.stringMatching(/[ac]/)]);
      expect(ownersOf(id, 'z')).toEqual(['d']);
    }
  });

  it.each([1, 2, 3, 4, 6, 9])(
    'each owns a fair part of ids in steps of %d: a shop makes three delays per order',
    (step) => {
      const nodes = views({ a: ['x'], b: ['x'], c: ['x'] });
      const owned = nodes.map(
        (each) => IDS.filter((n) => each.owns(1_000_000 + n * step, 'x')).length,
      );
      for (const part of owned) {
        expect(part).toBeGreaterThan(IDS.length * 0.3);
        expect(part).toBeLessThan(IDS.length * 0.37);
      }
    },
  );

  it('each knows which names others serve, too', () => {
    const [a, b] = views({ a: ['x', 'y'], b: ['x'] }) as [Nodes, Nodes];
    expect(['x', 'y', 'z'].map((name) => a.isShared(name))).toEqual([true, false, false]);
    expect([a.hasPeers, b.isShared('x')]).toEqual([true, true]);
    b.update([]);
    expect([b.isShared('x'), b.hasPeers]).toEqual([false, false]);
  });

  it('one owns all of a group, where names are owned by group', () => {
    const names = ['x', 'y'];
    const nodes = views({ a: names, b: names, c: names }, new Set(['y']));
    const ownersOf = (name: string, group: string | null) => {
      const owners = IDS.slice(0, 50).map((id) =>
        nodes.findIndex((each) => each.owns(id, name, group)),
      );
      return new Set(owners).size;
    };
    const groups = IDS.slice(0, 50).map((n) => `shop ${n}`);
    expect(groups.filter((group) => ownersOf('y', group) !== 1)).toEqual([]);
    const first = groups.map((group) => nodes.findIndex((each) => each.owns(1, 'y', group)));
    expect(new Set(first)).toEqual(new Set([0, 1, 2]));
    expect([ownersOf('y', null), ownersOf('x', 'shop 1')]).toEqual([3, 3]);
    expect(nodes[0]?.shares.byGroup).toEqual([false, true]);
  });
});
describe('a node', () => {
  it('knows whether it has peers, and whether the view changed', () => {
    const nodes = new Nodes('b', ['x', 'y']);
    const updated = (names: string[]) => [nodes.update([['a', names]]), nodes.hasPeers];
    expect(nodes.hasPeers).toBe(false);
    expect(updated(['z'])).toEqual([false, false]);
    expect(updated(['y'])).toEqual([true, true]);
    expect(updated(['y'])).toEqual([false, true]);
    const none = { byGroup: [false, false], leftOut: [] };
    expect(nodes.shares).toEqual({ names: ['x', 'y'], counts: [1, 2], ranks: [0, 1], ...none });
  });

  it('looks after nothing that is paused, and says so to the statements', () => {
    const nodes = new Nodes('b', ['x', 'y']);
    const mayRun = () =>
      ['x null', 'x g', 'y g', 'y h'].filter((text) => {
        const [name, group] = text.split(' ') as [string, string];
        return nodes.mayRun(name, group === 'null' ? null : group);
      });
    expect(
      nodes.update(
        [],
        [
          ['x', '', null],
          ['y', 'g', null],
          ['z', 'g', null],
        ],
      ),
    ).toBe(true);
    expect(nodes.shares).toMatchObject({ counts: [1, 1], ranks: [-1, 0], leftOut: ['y g'] });
    expect([nodes.owns(1, 'x'), nodes.owns(1, 'y')]).toEqual([false, true]);
    expect(mayRun()).toEqual(['y h']);
    expect(nodes.update([], [])).toBe(true);
    expect(mayRun()).toHaveLength(4);
  });
});
describe('the owner by SQL', () => {
  const database = fileDatabase();
  const GROUPS = ['a', 'shop "7"', 'ü', '漢字', '💸', 'x'.repeat(255)];
  const EDGES = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
  const random = IDS.map(() => Math.floor(Math.random() * Number.MAX_SAFE_INTEGER));

  it.each([
    ['every id that is an exact number', [...EDGES, ...random], 'bigint', spreadSql, spread],
    ['groups', GROUPS, 'text', groupNumberSql, groupNumber],
  ] as [string, (number | string)[], string, (of: string) => string, (of: never) => number][])(
    'is the same as here, of %s',
    async (_, values, type, sqlOf, here) => {
      const client = await database.connect();
      const { rows } = await client.query<{ at: string }>(
        `SELECT ${sqlOf('v')}::text AS at FROM unnest($1::${type}[]) WITH ORDINALITY AS i(v, ord) ORDER BY ord`,
        [values],
      );
      expect(rows.map(({ at }) => Number(at))).toEqual(values.map((value) => here(value as never)));
    },
  );
});

const meant = (name: string) => (/^.rder.cl/.test(name) ? 'order.close' : undefined);

describe('names that no node seems to serve', () => {
  /** When it asks, and how often; what it is answered stands in `test/integration/engine/unserved-names.spec.ts`. */
  let asked: (readonly string[])[];
  let names: UnservedNames;
  beforeEach(() => {
    jest.useFakeTimers();
    asked = [];
    const unserved = async (some: readonly string[]): Promise<string[]> => {
      asked.push(some);
      return [];
    };
    const limits = { loadEveryMs: 10_000 };
    names = new UnservedNames({ unserved }, ['own'], meant, limits, new DelayEvents());
  });
  afterEach(() => {
    jest.useRealTimers();
  });
  it('asks for all new names together, when who serves them has had the time of three loads', async () => {
    for (const name of ['a', 'own', 'b', 'a']) names.written(name);
    await jest.advanceTimersByTimeAsync(29_999);
    expect(asked).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([['a', 'b']]);
  });
  it('asks at once for a name that looks like a known one', async () => {
    for (const name of ['order.ship', 'order.clsoe', 'Order.close', 'own']) names.written(name);
    await jest.advanceTimersByTimeAsync(0);
    expect(asked).toEqual([['order.clsoe'], ['Order.close']]);
  });
  it.each([[['a']], [[]]])('asks nobody once it is stopped, after %j', async (before) => {
    for (const name of before) names.written(name);
    await names.stop();
    names.written('b');
    await jest.runAllTimersAsync();
    expect(asked).toEqual([]);
  });
  it('asks for a thousand names in its life', async () => {
    for (let n = 0; n < 1_001; n += 1) names.written(`name ${n}`);
    await jest.runAllTimersAsync();
    names.written('one more');
    await jest.runAllTimersAsync();
    expect(asked.map(({ length }) => length)).toEqual([1_000]);
  });
});
