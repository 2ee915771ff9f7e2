import { setTimeout as pause } from 'node:timers/promises';

const AWAY_AT_MOST_MS = 60_000;
const KNOCK_EVERY_MS = 50;

/** Refused, cut off, too many at once, or told that the server is going down or coming up. */
const AWAY = /^(?:ECONN|EPIPE|08|53300|57P0[123])/;

/** `pg` gives no code to a connection that ends without a word. */
const WITHOUT_A_WORD = /connection.*(?:terminated|ended|error)|not queryable|timeout expired/i;

/** Whether it is about the server, and not about what was asked of it. */
export function isAway(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === undefined ? WITHOUT_A_WORD.test(message ?? '') : AWAY.test(code);
}

/** Does it again while the server is away, so it may take effect twice. */
export async function untilBack<Result>(work: () => Promise<Result>): Promise<Result> {
  const giveUpAtMs = performance.now() + AWAY_AT_MOST_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error) || performance.now() > giveUpAtMs) throw error;
    }
    await pause(KNOCK_EVERY_MS);
  }
}
