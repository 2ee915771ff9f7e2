import { DelayError } from '../../delay/delay.errors.js';

/** An `around` did not call `next()`, called it twice or too late; its attempt has failed. */
export class DelayAroundError extends DelayError {
  readonly code = 'DELAY_AROUND';
}
