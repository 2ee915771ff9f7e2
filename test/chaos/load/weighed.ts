import type { Random } from '../../../src/random.js';

/** One of them, each as often as its weight says. */
export function weighed<Item>(
  random: Random,
  items: readonly (readonly [weight: number, item: Item])[],
): Item {
  const total = items.reduce((sum, [weight]) => sum + weight, 0);
  let left = random.next() * total;
  for (const [weight, item] of items) {
    left -= weight;
    if (left < 0) return item;
  }
  throw new Error('nothing to choose from');
}
