import type { Side, Which } from './side.js';

/** One call, to be made on both sides. */
export interface Step {
  what: string;
  /** Which session it needs; a call on the single one may wait for the open transaction. */
  on: Which;
  run: (side: Side) => Promise<unknown>;
  hasOrder: boolean;
  /** What a statement of many callers is about; its answers are one per caller. */
  together?: string;
}
