/** Up to so many names, to look through all of them is no slower than to look one up. */
const LOOKED_THROUGH_MAX = 32;

const indexes = new WeakMap<readonly string[], string>();

/**
 * The place of each name in that list, counted from 1, as JSON for the statements of a node that serves very
 * many: Postgres looks through an array from its beginning, for each row. `null` while they are few.
 */
export function nameIndex(names: readonly string[]): string | null {
  if (names.length <= LOOKED_THROUGH_MAX) return null;
  let index = indexes.get(names);
  if (index === undefined) {
    index = JSON.stringify(Object.fromEntries(names.map((name, at) => [name, at + 1])));
    indexes.set(names, index);
  }
  return index;
}
