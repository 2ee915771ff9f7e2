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

/** A payment that was taken, and the shop's answer. */
export interface LedgerPayment {
  transaction: string;
  amount: number;
  /** How often the shop was asked. */
  asked: number;
  /** `null`: never answered. */
  answer: PaymentReceipt | null;
}

/** All requests and answers, seen from outside: the database is compared with them. */
export interface Ledger {
  closer: Closer;
  orders: LedgerOrder[];
  /** Processes are counted from 0; `null`: that fault did not occur. */
  killed: Fault | null;
  paused: (Fault & { untilMs: number }) | null;
}

/** A process that was hit. Times are of the database's clock. */
export interface Fault {
  process: number;
  atMs: number;
  /** Orders whose close it had begun. */
  held: string[];
  /** Orders whose close it was to begin. */
  owned: string[];
}
