/** The embedded Postgres cannot run here; the message says why and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

/** The system's or Postgres' code of an error (`ENOENT`, `28P01`); empty when it has none. */
export function codeOf(error: unknown): string {
  // Not `instanceof Error`: Node's own errors are of another realm than Jest's.
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
