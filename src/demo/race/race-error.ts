/** The race could not be run: print the message alone, without a stack. */
export class RaceError extends Error {
  override readonly name = 'RaceError';
}
