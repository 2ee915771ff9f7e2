import { DelayError } from '../delay/delay.errors.js';

/** A call of `DelayTesting` cannot do what is asked of it. The message says why, and what to do. */
export class DelayTestingError extends DelayError {
  readonly code = 'DELAY_TESTING';
}
