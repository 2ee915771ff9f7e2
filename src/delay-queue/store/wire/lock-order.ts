/** What has a name and may have a key. */
interface Keyed {
  readonly name: string;
  readonly key: string | null;
}

/**
 * The items by (name, key), each with its index before: the same order for every caller, whatever
 * its locale, so that two callers lock in the same order.
 */
export function inLockOrder<Item extends Keyed>(
  items: readonly Item[],
): { sorted: Item[]; indexes: number[] } {
  const at = (index: number): Item => items[index] as Item;
  const indexes = Array.from(items.keys()).toSorted((one, other) => {
    const [a, b] = [at(one), at(other)];
    return compare(a.name, b.name) || compare(a.key ?? '', b.key ?? '');
  });
  return { sorted: indexes.map(at), indexes };
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
