/**
 * What `GET /feed` sends to the page and all other watchers. No imports: the page's bundle takes
 * this file as it is. Instants are ISO 8601 texts, money is integer cents, durations are
 * milliseconds.
 *
 * - `event: snapshot`, data {@link Feed}: the first one after each (re)connection.
 * - `event: change`, data {@link FeedChange}: what is different since.
 * - `event: trouble`, data {@link FeedTrouble}: the database does not answer, and what was sent
 *   last is still the latest. When it answers again, a snapshot follows.
 */
export interface Feed {
  /** The database's clock when this was read: countdowns use it. */
  serverNow: string;
  /** The process that sends it: `shop-1`. */
  servedBy: string;
  mode: Mode;
  /** What the page may offer; all `false` in production. */
  can: { pay: boolean; race: boolean; kill: boolean };
  skus: SkuCard[];
  /** Newest first, at most {@link ORDERS_MAX}. */
  orders: OrderCard[];
  processes: ProcessCard[];
  lateness: Lateness;
  /** `null` before the first check. */
  invariants: InvariantStrip | null;
  /** Messages to buyers, newest first, at most {@link MESSAGES_MAX}. */
  messages: MessageCard[];
  /** Newest first, at most {@link HAPPENINGS_MAX}. */
  happenings: Happening[];
  /** Newest first, at most {@link CAMPAIGNS_MAX}; `GET /campaigns` has all of them. */
  campaigns?: CampaignCard[];
  /** The first {@link MERCHANTS_MAX}; `GET /merchants` has all of them. */
  merchants?: MerchantCard[];
}

export const ORDERS_MAX = 30;
export const MESSAGES_MAX = 20;
export const HAPPENINGS_MAX = 40;
export const CAMPAIGNS_MAX = 3;
export const MERCHANTS_MAX = 5;

/**
 * Always has `serverNow` and `servedBy`; the other parts only if they differ. A part replaces the
 * known one as a whole, with two exceptions: `orders` holds the cards that are new or different
 * (replace by `id`, sort by `no`, drop the oldest), `happenings` the new ones (put in front, drop
 * the oldest).
 */
export type FeedChange = Pick<Feed, 'serverNow' | 'servedBy'> & Partial<Feed>;

/** What is wrong, as a word that the page translates. */
export interface FeedTrouble {
  servedBy: string;
  trouble: 'database';
}

/** The names of the durations that a visitor watches. */
export type DurationName = 'pay' | 'remind' | 'sms' | 'confirm' | 'rate';

export interface Mode {
  name: 'demo' | 'real';
  /**
   * Counted from placing (`pay`, `sms`, `remind`), shipping (`confirm`) or completing (`rate`).
   * `ms: null`: switched off.
   */
  durations: { name: DurationName; ms: number | null; standsForMs: number }[];
}

export interface SkuCard {
  sku: string;
  name: string;
  price: number;
  stock: number;
  initialStock: number;
}

export type OrderState = 'UNPAID' | 'PAID' | 'SHIPPED' | 'COMPLETED' | 'CLOSED';

export interface OrderCard {
  id: string;
  /** For people. */
  no: number;
  status: OrderState;
  /** `null` unless CLOSED: `not paid in time`, `cancelled by buyer`. */
  closeReason: string | null;
  total: number;
  merchant: string;
  items: { sku: string; name: string; price: number; quantity: number }[];
  placedAt: string;
  payDeadline: string;
  /** `null` before shipping and during a dispute. */
  autoConfirmAt: string | null;
  /** The buyer's one extension is used. */
  extended: boolean;
  /** During a dispute the timers are paused; `frozen` has the time that is left of each. */
  dispute: { reason: string; frozen: { name: string; leftMs: number }[] } | null;
  payments: PaymentCard[];
  review: { stars: number; source: 'buyer' | 'automatic' } | null;
  /** Scheduled ones by due time, then ended ones, the latest first. */
  delays: DelayCard[];
  /** Oldest first. */
  timeline: Happening[];
}

export interface PaymentCard {
  id: string;
  status: 'CAPTURED' | 'REFUND_PENDING' | 'REFUNDED';
  amount: number;
  capturedAt: string;
  refundedAt: string | null;
  /** Why it was not kept. */
  refundReason: string | null;
}

/** A delay of an order: `order.close`, `order.remind`, `order.sms`, `order.confirm`, `order.rate`, `payment.refund`, `race.pay`. */
export interface DelayCard {
  /** Unique: a delay that was scheduled again under its key is another one. */
  id: string;
  name: string;
  /**
   * `dead`: no attempt left, a person has to look. `superseded`: replaced by one of the same key.
   */
  state: 'scheduled' | 'running' | 'retrying' | 'dead' | 'completed' | 'cancelled' | 'superseded';
  dueAt: string;
  /** When it is tried next; `null` while it runs and when it is over. */
  nextAt: string | null;
  attempts: number;
  /** When it was completed or cancelled. */
  endedAt: string | null;
  /** Start of its last attempt, and how long after due; `null` when none has started. */
  firedAt: string | null;
  lateMs: number | null;
  /** The process that fired it. */
  by: string | null;
  /** Why its last attempt failed. */
  error: string | null;
}

export interface ProcessCard {
  name: string;
  /** `null` while it is dead. */
  pid: number | null;
  state: 'up' | 'dead' | 'starting';
  /** Since when it is in that state, by its machine's clock. */
  since: string;
  /** Delays that it fired since the shop was started. */
  fired: number;
}

/** For the delays `order.*` and `message.send` that fired since the shop was started. */
export interface Lateness {
  /**
   * Ascending; `count`: late by at most `upToMs` and not in an earlier bucket. `null`: no upper
   * bound.
   */
  buckets: { upToMs: number | null; count: number }[];
  /** Rounded up, by a tenth of a millisecond or by 1%; `null` while nothing has fired. */
  p50Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
  count: number;
}

export interface InvariantStrip {
  ok: boolean;
  checks: { name: string; ok: boolean; detail: string }[];
  /** The longer a check takes the rarer it is: checks take at most a fiftieth of the time. */
  checkedAt: string;
}

export interface MessageCard {
  id: string;
  at: string;
  orderId: string;
  no: number;
  /** `order.placed`, `order.reminder`, `order.paid`, … */
  kind: string;
  text: string;
}

/** Text messages to many recipients, in batches at the pace of their merchant. */
export interface CampaignCard {
  id: string;
  /** Its merchant, whose campaigns share a pace. */
  merchant: string;
  state: 'SCHEDULED' | 'RUNNING' | 'STOPPED' | 'COMPLETED';
  message: string;
  /** When it begins. */
  at: string;
  completedAt: string | null;
  /** When its `campaign.send` is due; `null` while a batch is being sent, or none follows. */
  nextBatchAt: string | null;
  /** Recipients. */
  counts: { total: number; pending: number; sending: number; sent: number; failed: number };
}

/** A merchant, reminded every day of orders that wait to be shipped. */
export interface MerchantCard {
  id: string;
  name: string;
  /** IANA name; the reminder comes at nine there. */
  timeZone: string;
  /** When its `merchant.remind` is due; `null` while that runs. */
  nextReminderAt: string | null;
  /** `null`: no order has waited at nine yet. */
  lastReminder: { at: string; orders: number; oldestPaidAt: string } | null;
}

/** What can happen; the page translates it. */
export type What =
  | 'order.placed'
  | 'order.reminded'
  | 'order.paid'
  | 'order.shipped'
  | 'order.extended'
  | 'order.completed'
  | 'order.rated'
  | 'order.closed'
  | 'message.sent'
  | 'payment.captured'
  /** The payment came too late, or was wrong: it is refunded. */
  | 'payment.unkept'
  | 'payment.refunded'
  /** The process that was paying died, and the order closed; or it was closed already. */
  | 'payment.broken'
  | 'payment.refused'
  | 'dispute.opened'
  | 'dispute.released'
  /** Only on a timeline: a delay was cancelled, came second, or was given up. */
  | 'delay.cancelled'
  | 'delay.idle'
  | 'delay.dead'
  /** Only in the strip. */
  | 'process.started'
  | 'process.died';

export interface Happening {
  /** Unique within the feed, and the same in every process that sends it. */
  id: string;
  at: string;
  what: What;
  orderId: string | null;
  no: number | null;
  /** The delay that caused it, or that it is about: `order.close`. */
  delay: string | null;
  /** The process whose worker fired it; for `process.*` the process itself. `null`: a request. */
  by: string | null;
  /** How long after its due time it began; `null` when nothing was due. */
  lateMs: number | null;
  /** Change of the stock: -2 when placed, +2 when closed. */
  stock: number | null;
  /** `order.rated`: stars. `payment.*`: cents. */
  amount: number | null;
  /** Items (`2 × CUP-WHITE`), reason of a close, refund or dispute, or kind of a message. */
  detail: string | null;
}
