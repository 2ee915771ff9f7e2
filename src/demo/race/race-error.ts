/** The race could not be run: print only the message, no stack. */
export class RaceError extends Error {
  override readonly name = 'RaceError';
}
