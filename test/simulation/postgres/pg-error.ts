/** As `pg` reports what the server says. */
export class PgError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** As Node reports a connection that broke. */
export const brokenConnection = (): Error =>
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

export const diskFull = (): Error => new PgError('53100', 'could not extend file');
