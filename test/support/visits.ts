/** What walks through a Map or a Set. */
const WALKS = ['entries', 'keys', 'values', Symbol.iterator] as const;

/**
 * How many entries of Maps and Sets some work walks through: what grows with what waits shows here, however busy the
 * machine is.
 */
export function visitsOf(work: () => void): number {
  let visits = 0;
  const restore: (() => void)[] = [];
  for (const prototype of [Map.prototype, Set.prototype] as object[]) {
    for (const name of WALKS) {
      const walk = Reflect.get(prototype, name) as () => Iterator<unknown>;
      const counted = function (this: unknown): Iterator<unknown> {
        const iterator = walk.call(this);
        const next = iterator.next.bind(iterator);
        iterator.next = () => {
          visits += 1;
          return next();
        };
        return iterator;
      };
      Reflect.set(prototype, name, counted);
      restore.push(() => Reflect.set(prototype, name, walk));
    }
  }
  try {
    work();
  } finally {
    for (const each of restore) each();
  }
  return visits;
}
