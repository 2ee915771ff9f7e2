import { beforeEach, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { CallsInOrder } from '../../../src/delay-queue/core/transactions/calls-in-order.js';
import { type Signal, signal } from '../../support/delay-node.js';
import { visitsOf } from '../../support/visits.js';

let calls: CallsInOrder;

beforeEach(() => {
  calls = new CallsInOrder();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const keyed = (...keys: (string | null)[]) => keys.map((key) => ({ name: 'a', key }));

it('calls about one key follow each other, those about others and about none do not wait', async () => {
  const gate = signal();
  const order: string[] = [];
  const call = (what: string, wait?: Promise<void>) => async () => {
    order.push(`${what} begins`);
    await wait;
    order.push(`${what} ends`);
  };
  const first = calls.run(keyed('k'), call('first', gate.promise));
  const second = calls.run(keyed('k', 'l'), call('second'));
  const third = calls.run(keyed('l'), call('third'));
  await calls.run(keyed('m'), call('other'));
  await calls.run(keyed(null), call('keyless'));
  await calls.run([{ name: 'b', key: 'k' }], call('of another name'));
  expect(order.filter((what) => /second|third|first ends/.test(what))).toEqual([]);
  gate.resolve();
  await Promise.all([first, second, third]);
  expect(order.slice(-5)).toEqual([
    'first ends',
    'second begins',
    'second ends',
    'third begins',
    'third ends',
  ]);
});

it('one about all comes after all that were made before it, and before all that come then', async () => {
  const kinds = fc.array(fc.constantFrom('k', 'l', 'all'), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(kinds, fc.array(fc.nat(20), { minLength: 20 }), async (made, ends) => {
      const gates: Signal<void>[] = made.map(() => signal());
      const begun = new Set<number>();
      const over = new Set<number>();
      const conflicts = (one: number, other: number): boolean =>
        made[one] === made[other] || made[one] === 'all' || made[other] === 'all';
      const running = made.map((about, index) =>
        calls.run(about === 'all' ? 'all' : keyed(about), async () => {
          begun.add(index);
          const before = made.map((_, one) => one).slice(0, index);
          const inItsWay = before.filter((one) => conflicts(one, index) && !over.has(one));
          expect(inItsWay).toEqual([]);
          await gates[index]!.promise;
          over.add(index);
        }),
      );
      for (let left = made.length; left > 0; left -= 1) {
        await turn();
        const open = [...begun].filter((index) => !over.has(index));
        expect(open.length).toBeGreaterThan(0);
        gates[open[ends[left % ends.length]! % open.length]!]!.resolve();
      }
      await Promise.all(running);
    }),
    { numRuns: 100 },
  );
});

it('one that fails lets the next one begin', async () => {
  const failed = calls.run(keyed('k'), () => Promise.reject(new Error('no')));
  const all = calls.run('all', () => Promise.reject(new Error('nor this')));
  const next = calls.run(keyed('k'), async () => 'next');
  await expect(failed).rejects.toThrow('no');
  await expect(all).rejects.toThrow('nor this');
  expect(await next).toBe('next');
});

it('one that gives up before its turn lets no later one overtake those before it', async () => {
  const gate = signal();
  const first = calls.run(keyed('k'), () => gate.promise);
  const second = calls.enter(keyed('k'));
  let hasBegun = false;
  const third = calls.run(keyed('k'), async () => void (hasBegun = true));
  second.leave();
  await turn();
  expect(hasBegun).toBe(false);
  gate.resolve();
  await Promise.all([first, third]);
  expect(hasBegun).toBe(true);
});

it('nothing is kept of a thousand that are over', async () => {
  for (let n = 0; n < 1_000; n += 1) await calls.run(keyed(String(n)), async () => {});
  const order: string[] = [];
  let all!: Promise<unknown>;
  const visits = visitsOf(() => {
    all = calls.run('all', async () => void order.push('all'));
  });
  // It comes to the end at once, and has begun in this turn.
  expect([visits, order]).toEqual([1, ['all']]);
  await all;
  const next = calls.run(keyed('k'), async () => void order.push('next'));
  expect(order).toEqual(['all', 'next']);
  await next;
});
