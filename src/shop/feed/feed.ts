/**
 * What `GET /feed` sends, for the page and all other watchers of the shop. No imports: the page's
 * bundle takes this file as it is. Instants are ISO 8601 texts, money is integer cents, durations are
 * milliseconds.
 *
 * - `event: snapshot`, data {@link Feed}: the first one after each (re)connection.
 * - `event: change`, data {@link FeedChange}: what is different since.
 * - `event: trouble`, data {@link FeedTrouble}: the database cannot be asked; what was sent last is what
 *   is known. When it answers again a snapshot follows.
 */
export interface Feed {
  /** The database's clock when this was looked up: countdowns count by it. */
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
  /** `null` until they were checked for the first time. */
  invariants: InvariantStrip | null;
  /** What buyers were told, newest first, at most {@link MESSAGES_MAX}. */
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
 * `serverNow` and `servedBy` always; of the others those that are different. Each replaces what was
 * known as a whole, but for two: `orders` holds the cards that are new or different (replace by `id`,
 * sort by `no`, drop the oldest), `happenings` the new ones (put before the others, drop the oldest).
 */
export type FeedChange = Pick<Feed, 'serverNow' | 'servedBy'> & Partial<Feed>;

/** For people who watch, in a word for machines. */
export interface FeedTrouble {
  servedBy: string;
  trouble: 'database';
}

/** The names of the durations that a visitor watches. */
export type DurationName = 'pay' | 'remind' | 'sms' | 'confirm' | 'rate';

export interface Mode {
  name: 'demo' | 'real';
  /**
   * `pay`, `confirm` and `rate`: after placing, shipping, completing. `sms`: after placing. `remind`:
   * after placing, too. `ms: null`: switched off.
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
  /** `null` until it is shipped, and under dispute. */
  autoConfirmAt: string | null;
  /** The buyer's one extension is used. */
  extended: boolean;
  /** While it is set the timers stand still; `frozen` says with how much left. */
  dispute: { reason: string; frozen: { name: string; leftMs: number }[] } | null;
  payments: PaymentCard[];
  review: { stars: number; source: 'buyer' | 'automatic' } | null;
  /** Those that wait by due time, then those that ended, the latest first. */
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
  /** Why it is not kept. */
  refundReason: string | null;
}

/** A delay of an order: `order.close`, `order.remind`, `order.sms`, `order.confirm`, `order.rate`, `payment.refund`, `race.pay`. */
export interface DelayCard {
  /** Unique: a delay that was scheduled again under its key is another one. */
  id: string;
  name: string;
  /** `dead`: attempts are over, a person has to look. `superseded` by one of the same key. */
  state: 'scheduled' | 'running' | 'retrying' | 'dead' | 'completed' | 'cancelled' | 'superseded';
  dueAt: string;
  /** When it is tried next; `null` while it runs, and when it is over. */
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
  /** Of that state, by the clock of the machine it runs on. */
  since: string;
  /** Delays it fired since the shop was started. */
  fired: number;
}

/** Of the delays `order.*` and `message.send` that fired since the shop was started. */
export interface Lateness {
  /** Ascending; `count` are those that were late by at most `upToMs` and not in an earlier one. `null`: any more. */
  buckets: { upToMs: number | null; count: number }[];
  /** Rounded up, by a tenth of a millisecond or one in a hundred; `null` while nothing has fired. */
  p50Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
  count: number;
}

export interface InvariantStrip {
  ok: boolean;
  checks: { name: string; ok: boolean; detail: string }[];
  /** The longer a check takes the seldomer they are: a fiftieth of the time at most. */
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

/** Text messages to many, in batches at the pace of their merchant. */
export interface CampaignCard {
  id: string;
  /** Whose it is: its campaigns share a pace. */
  merchant: string;
  state: 'SCHEDULED' | 'RUNNING' | 'STOPPED' | 'COMPLETED';
  message: string;
  /** When it begins. */
  at: string;
  completedAt: string | null;
  /** When its `campaign.send` is due; `null` while a batch is sent, or none is to come. */
  nextBatchAt: string | null;
  /** Recipients. */
  counts: { total: number; pending: number; sending: number; sent: number; failed: number };
}

/** Who sells, and is reminded every day of what waits to be shipped. */
export interface MerchantCard {
  id: string;
  name: string;
  /** IANA name: it is reminded at nine there. */
  timeZone: string;
  /** When its `merchant.remind` is due; `null` while that runs. */
  nextReminderAt: string | null;
  /** `null`: nothing has waited at nine yet. */
  lastReminder: { at: string; orders: number; oldestPaidAt: string } | null;
}

/** What can happen; the page says it in its language. */
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
  /** The money came too late, or was wrong: it goes back. */
  | 'payment.unkept'
  | 'payment.refunded'
  /** The process that was paying died, and the order closed; or it was closed already. */
  | 'payment.broken'
  | 'payment.refused'
  | 'dispute.opened'
  | 'dispute.released'
  /** On a timeline only: a delay was cancelled, found that it came second, or was given up. */
  | 'delay.cancelled'
  | 'delay.idle'
  | 'delay.dead'
  /** In the strip only. */
  | 'process.started'
  | 'process.died';

export interface Happening {
  /** Unique within the feed, and the same in each process that tells it. */
  id: string;
  at: string;
  what: What;
  orderId: string | null;
  no: number | null;
  /** The delay that brought it about, or that it is about: `order.close`. */
  delay: string | null;
  /** The process whose worker fired it; for `process.*` the process itself. `null`: a request asked for it. */
  by: string | null;
  /** How long after its due time it began; `null` when nothing was due. */
  lateMs: number | null;
  /** What it did to the stock: -2 when placed, +2 when closed. */
  stock: number | null;
  /** `order.rated`: stars. `payment.*`: cents. */
  amount: number | null;
  /** What was placed (`2 × CUP-WHITE`), a close reason, a refund reason, a message's kind, a dispute's reason. */
  detail: string | null;
}
