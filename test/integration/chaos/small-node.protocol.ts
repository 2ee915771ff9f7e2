import type { NodeOrder, StartHow } from '../../chaos/world.js';

/** What a small node is started with, as JSON in `CHAOS_SMALL_NODE`. */
export interface SmallNodeSetup extends StartHow {
  url: string;
}

export type SmallNodeOrder = NodeOrder;

/** What a small node tells. */
export interface SmallNodeMessage {
  /** A transaction that wrote this row is committed. */
  committed?: string;
  /** One that failed: before its COMMIT was sent, or later. */
  failed?: string;
  atCommit?: boolean;
  /** All connections of its pool have been in the application's hands for so long. */
  heldMs?: number;
  /** The code of that error, or of the one that the listening connection broke with. */
  code?: string;
  listening?: 'lost';
  /** Its event loop stood still for so long. */
  stoodMs?: number;
  /** Its wall clock minus the true one, whenever that changes by more than a minute. */
  clockMs?: number;
}
