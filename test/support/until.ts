import { setTimeout as pause } from 'node:timers/promises';

/**
 * What is signalled comes at once, and what a fallback of the engine would make good later, a load or a sweep, is not
 * what is waited for. On a busy machine looks are few: so many of them at least.
 */
const SEEN_WITHIN_MS = 20_000;
const LOOKS_MIN = 300;
const LOOK_EVERY_MS = 20;
/** Only who hangs is given up then, not who is slow. */
const SLOW_MS = 60_000;

const TOLD_CHARS_MAX = 2_000;

interface Until<Seen> {
  /** What is waited for, in the words of the test; default the source of `accept`. */
  what?: string;
  /** Milliseconds; default 20,000, or on a busy machine as long as 300 looks take, up to 60,000. */
  withinMs?: number;
  /** What to say of the last thing seen, when it was not accepted in time; default its JSON. */
  tell?: (seen: Seen) => string;
}

/**
 * Looks until `accept` is content, and answers what it saw then: for what a database or another
 * process does and tells nobody.
 *
 * @throws with what was waited for, and the last thing seen
 */
export async function until<Seen>(
  look: () => Promise<Seen> | Seen,
  accept: (seen: Seen) => boolean,
  { withinMs, tell = inJson, what = sourceOf(accept) }: Until<Seen> = {},
): Promise<Seen> {
  const beganAtMs = performance.now();
  for (let looks = 1; ; looks += 1) {
    const seen = await look();
    if (accept(seen)) return seen;
    const tookMs = performance.now() - beganAtMs;
    const isOver =
      withinMs === undefined
        ? tookMs > SLOW_MS || (tookMs > SEEN_WITHIN_MS && looks > LOOKS_MIN)
        : tookMs > withinMs;
    if (isOver) {
      const last = tell(seen).slice(0, TOLD_CHARS_MAX);
      throw new Error(`waited ${Math.round(tookMs)} ms for: ${what}\nlast seen: ${last}`);
    }
    await pause(LOOK_EVERY_MS);
  }
}

const inJson = (seen: unknown): string => JSON.stringify(seen, null, 2) ?? String(seen);

const sourceOf = (accept: (seen: never) => boolean): string =>
  String(accept).replaceAll(/\s+/g, ' ').slice(0, TOLD_CHARS_MAX);

/** What a promise of the test answers, if it does in time. @throws with what was waited for */
export async function inTime<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${SLOW_MS} ms for: ${what}`)), SLOW_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
