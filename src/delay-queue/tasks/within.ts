/** What `within` answers when the time is over. */
export const LATE: unique symbol = Symbol('late');

/**
 * What `work` answers, or `LATE` after `ms`. The work itself goes on, and its result is dropped,
 * also when it fails.
 *
 * @param ref false: the wait alone keeps no process alive
 * @throws what `work` throws in time
 */
export async function within<Value>(
  work: Promise<Value>,
  ms: number,
  { ref = true }: { ref?: boolean } = {},
): Promise<Value | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), ms);
    if (!ref) timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
