import { setTimeout as pause } from 'node:timers/promises';

const SEEN_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** Looks until `accept` is content; answers what it saw then. */
export async function until<Seen>(
  look: () => Promise<Seen> | Seen,
  accept: (seen: Seen) => boolean,
): Promise<Seen> {
  const giveUpAtMs = performance.now() + SEEN_WITHIN_MS;
  for (;;) {
    const seen = await look();
    if (accept(seen)) return seen;
    if (performance.now() > giveUpAtMs) throw new Error(`last seen: ${JSON.stringify(seen)}`);
    await pause(LOOK_EVERY_MS);
  }
}
