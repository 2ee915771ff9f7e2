import type { Acknowledger } from '../settlement/acknowledger.js';
import type { InFlight } from '../settlement/in-flight.js';
import type { LostClaims } from '../settlement/lost-claims.js';
import type { Wake } from '../store/wire/wakes.js';

/** Claims of this node that are not over: what they hold is offered in vain. */
export interface OpenClaims {
  inFlight: Pick<InFlight, 'covers' | 'size'>;
  acknowledger: Pick<Acknowledger, 'giveBack' | 'unread' | 'unwritten' | 'waits'>;
  lost: LostClaims;
}

/**
 * Whether its attempt runs here, or is over and not written down: to run it again would do the work twice. Or this
 * node could not read it, and leaves it to others.
 */
export const isTaken = ({ inFlight, acknowledger }: OpenClaims, wake: Wake): boolean =>
  inFlight.covers(wake.id, wake.epoch) ||
  acknowledger.unwritten.covers(wake.id, wake.epoch) ||
  acknowledger.unread.leaves(wake);
