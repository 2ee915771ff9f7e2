/** What the parent asks of a process; the answer carries the same `call`. */
export type Request =
  | { ask: 'place'; orderId: string; afterMs: number }
  /** `spoilt`: the payment fails after all, and its transaction is rolled back. */
  | { ask: 'pay'; orderId: string; spoilt?: boolean }
  | { ask: 'left' };

export type Order = (Request & { call: number }) | { goOn: string };

export interface Message {
  ready?: true;
  /** That order was found unpaid and is about to be closed, once `goOn` comes. */
  closing?: string;
  call?: number;
  /** How many closes are to come, or whether the money was taken: 1 or 0. */
  answer?: number;
}
