import { setTimeout as pause } from 'node:timers/promises';

const SEEN_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

interface Until<Seen> {
  /** Milliseconds; default 30,000: only who hangs is given up, not who is slow. */
  withinMs?: number;
  /** What to say of the last thing seen, when it was not accepted in time; default its JSON. */
  tell?: (seen: Seen) => string;
}

/**
 * Looks until `accept` is content, and answers what it saw then: for what a database or another
 * process does and tells nobody.
 *
 * @throws with the last thing seen
 */
export async function until<Seen>(
  look: () => Promise<Seen> | Seen,
  accept: (seen: Seen) => boolean,
  { withinMs = SEEN_WITHIN_MS, tell = inJson }: Until<Seen> = {},
): Promise<Seen> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (accept(seen)) return seen;
    if (performance.now() > giveUpAtMs) {
      throw new Error(`not within ${withinMs} ms; last seen: ${tell(seen)}`);
    }
    await pause(LOOK_EVERY_MS);
  }
}

const inJson = (seen: unknown): string => JSON.stringify(seen, null, 2);
