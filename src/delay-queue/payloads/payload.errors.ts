import { DelayError } from '../delay/delay.errors.js';

/** What does not fit into a schema. */
export interface PayloadIssue {
  /** `payload.items[0].price` */
  readonly path: string;
  /** In the words of the schema. */
  readonly message: string;
}

/**
 * `cause` of `unreadable`, `retrying` and `dead` events: the stored payload does not fit into the schema of its name;
 * `issues` say where.
 *
 * Its handler was not called.
 */
export class DelayPayloadError extends DelayError {
  readonly code = 'DELAY_PAYLOAD';

  /** @param issues the first 20 */
  constructor(readonly issues: readonly PayloadIssue[]) {
    super(issues.map(({ path, message }) => `${path}: ${message}`).join('; '));
  }
}

/** The codec failed, or a payload is encoded and there is none; `schedule` has written nothing. `cause` is what it threw. */
export class DelayCodecError extends DelayError {
  readonly code = 'DELAY_CODEC';

  constructor(why: string, cause?: unknown) {
    super(why, cause === undefined ? {} : { cause });
  }
}
