/** The shop cannot start, but not because of a bug: the message says what to do, in one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
