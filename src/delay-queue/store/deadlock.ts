/** Postgres breaks a deadlock by failing one of its parties, and undoes all that one did. */
const DEADLOCK = '40P01';

const TRIES_MAX = 5;

/**
 * Does work again that was a deadlock's victim. Only for a whole transaction, or a statement that
 * is one. Callers of `scheduleMany` lock in one order, but a key that somebody cancels meanwhile is
 * inserted out of turn.
 */
export async function despiteDeadlocks<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES_MAX || !isDeadlock(error)) throw error;
    }
  }
}

const isDeadlock = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === DEADLOCK;
