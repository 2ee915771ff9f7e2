import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 20;

/**
 * Looks until `accept` is content and answers what it saw then.
 *
 * @throws with the last thing seen, when that takes longer than `withinMs`
 */
export async function eventually<T>(
  look: () => Promise<T>,
  accept: (seen: T) => boolean,
  { withinMs = 15_000 }: { withinMs?: number } = {},
): Promise<T> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (accept(seen)) return seen;
    if (performance.now() > giveUpAtMs) {
      throw new Error(`not within ${withinMs} ms; last seen: ${JSON.stringify(seen, null, 2)}`);
    }
    await pause(LOOK_EVERY_MS);
  }
}
