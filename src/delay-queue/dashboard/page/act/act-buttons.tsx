import type { DelayLine, Which } from '../../contract.js';

export interface ActButtonsProps {
  which: Which;
  /** Those of them that are shown. */
  delays: readonly DelayLine[];
}

export function ActButtons(_props: ActButtonsProps) {
  return null;
}
