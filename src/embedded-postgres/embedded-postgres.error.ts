/** The embedded Postgres cannot run here; the message says why, and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

/** The error code of the system or of Postgres (`ENOENT`, `28P01`); empty if there is none. */
export function codeOf(error: unknown): string {
  // Not `instanceof Error`: Node's own errors are of another realm than Jest's.
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
