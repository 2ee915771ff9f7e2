/** Something took longer than it may. */
export class HungError extends Error {}

/** @throws HungError that says what hung */
export async function within<Value>(
  ms: number,
  what: () => string,
  work: Promise<Value>,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new HungError(`${what()} did not come to an end within ${ms / 1_000} s`)),
      ms,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
