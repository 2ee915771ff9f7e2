import type { PaymentReceipt } from '../../shop/payments/payments.schemas.js';
import type { Closer } from './command-line.js';
import type { PlannedOrder } from './plan.js';

/** An order as its buyer knows it. */
export interface LedgerOrder {
  id: string;
  total: number;
  payDeadlineMs: number;
  /** The process that placed it. */
  home: number;
  items: PlannedOrder['items'];
  payment: LedgerPayment | null;
}

/** Money that has been taken, and what the shop has said to it. */
export interface LedgerPayment {
  transaction: string;
  amount: number;
  /** How often the shop was asked before it answered. */
  asked: number;
  /** `null`: never answered. */
  answer: PaymentReceipt | null;
}

/** What was asked and answered, from outside: what the database is compared with. */
export interface Ledger {
  closer: Closer;
  orders: LedgerOrder[];
  /** The first process is 0; `null`: that fault did not come. */
  killed: Fault | null;
  paused: (Fault & { untilMs: number }) | null;
}

/** A process that was hit, on the database's clock. */
export interface Fault {
  process: number;
  atMs: number;
  /** Orders whose close it had begun. */
  held: string[];
  /** Orders whose close was its own to begin. */
  owned: string[];
}
