import type { Acknowledger } from '../settlement/acknowledger.js';
import type { InFlight } from '../settlement/in-flight.js';
import type { LostClaims } from '../settlement/lost-claims.js';

/** Claims of this node that are not over: what they hold is offered in vain. */
export interface OpenClaims {
  inFlight: Pick<InFlight, 'covers'>;
  acknowledger: Pick<Acknowledger, 'giveBack' | 'unwritten' | 'waits'>;
  lost: LostClaims;
}
