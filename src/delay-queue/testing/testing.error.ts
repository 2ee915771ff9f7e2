import { DelayError } from '../delay/delay.errors.js';

/**
 * In tests alone: `DelayTesting`, or the stand-in for unit tests, cannot do that now. The message says why, and what to do.
 * @see docs/testing.md
 */
export class DelayTestingError extends DelayError {
  readonly code = 'DELAY_TESTING';
  protected static override readonly hasLines = true;
}
