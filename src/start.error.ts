/** The shop cannot start, and nothing is wrong with the program: the message says what to do, in a line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
