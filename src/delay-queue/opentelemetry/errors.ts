import { describeError } from '../core/index.js';

/** Codes of this package, of Node and of Postgres: `DELAY_TIMEOUT`, `ECONNREFUSED`, `23505`. */
const CODE = /^[A-Z\d_]{2,40}$/;
const NAME = /^[\w$]{1,100}$/;

/** What the conventions call a type that is not known. */
const OTHER = '_OTHER';

/** A word that metrics can be grouped by. Never throws, whatever was thrown. */
export function classifyError(error: unknown): string {
  try {
    if (typeof error === 'string') return NAME.test(error) ? error : OTHER;
    const { code, name } = error as { code?: unknown; name?: unknown };
    if (typeof code === 'string' && CODE.test(code)) return code;
    return typeof name === 'string' && NAME.test(name) ? name : OTHER;
  } catch {
    return OTHER;
  }
}

/** In the form that `recordException` takes. Never throws. */
export function spanException(error: unknown): { name: string; message: string; stack?: string } {
  const message = describeError(error);
  try {
    const { name, stack } = error as { name?: unknown; stack?: unknown };
    return {
      name: typeof name === 'string' && NAME.test(name) ? name : classifyError(error),
      message,
      ...(typeof stack === 'string' && { stack }),
    };
  } catch {
    return { name: OTHER, message };
  }
}
