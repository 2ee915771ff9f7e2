import { DelayError } from 'nestjs-delay-queue';
import { TypeORMError } from 'typeorm';
import type { Record } from './record.js';

/** Longer than any limit that somebody set: who is not answered by then hangs. */
const HUNG_AFTER_MS = 40_000;

/** What a script throws by itself. */
export class ChangedItsMind extends Error {}

class Hung extends Error {}

/**
 * The answer, or its error; a call that gets neither is a fault, and so is an error that says nothing
 * to whoever catches it.
 */
export async function answered<Value>(
  record: Record,
  what: string,
  call: () => Promise<Value>,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Hung(`${what} has no answer`)), HUNG_AFTER_MS);
  });
  try {
    return await Promise.race([call(), hangs]);
  } catch (error) {
    if (error instanceof Hung) record.fault('hung', error.message);
    else if (!isKnown(error)) {
      record.fault('untyped', `${what}: ${error instanceof Error ? error.stack : String(error)}`);
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Of the pool, of the driver, of the server: what an application without the library meets, too. */
const DRIVER =
  /timeout exceeded when trying to connect|Connection terminated|Query read timeout|not queryable|connection error|ECONN/i;

function isKnown(error: unknown): boolean {
  if (error instanceof DelayError || error instanceof TypeORMError) return true;
  if (error instanceof ChangedItsMind) return true;
  if (!(error instanceof Error)) return false;
  return /^[0-9A-Z]{5}$/.test(String(Reflect.get(error, 'code'))) || DRIVER.test(error.message);
}
