import type { Happening, What } from './feed.js';
import { tenths, type DelayRow, type Picture } from './picture.js';

/** Rounding of instants, in milliseconds: rows have microseconds, a `Date` does not. */
const ROUNDING_MS = 1;

/** The delay that causes each piece of news. */
const CAUSE_OF_NEWS: Record<string, string> = {
  'order.placed': 'order.sms',
  'order.reminder': 'order.remind',
};

/** All that happened to an order, oldest first. */
export function timelineOf(picture: Picture): Happening[] {
  const told = new Teller(picture);
  const { payments, review, disputes, messages, ...order } = picture;
  const quantity = order.items.reduce((sum, item) => sum + item.quantity, 0);
  const basket = order.items.map((item) => `${item.quantity} × ${item.sku}`).join(', ');
  told.at(order.placedAt, 'order.placed', { stock: -quantity, detail: basket });
  told.at(order.paidAt, 'order.paid');
  told.at(order.shippedAt, 'order.shipped');
  told.at(order.extendedAt, 'order.extended');
  told.at(order.completedAt, 'order.completed', {}, 'order.confirm');
  const detail = order.closeReason;
  told.at(order.closedAt, 'order.closed', { detail, stock: quantity }, 'order.close');
  const { stars = null, source = null } = review ?? {};
  told.at(review?.createdAt, 'order.rated', { amount: stars, detail: source }, 'order.rate');
  for (const { id, amount, capturedAt, refundedAt, refundReason } of payments) {
    const what = refundReason === null ? 'payment.captured' : 'payment.unkept';
    told.at(capturedAt, what, { id, amount, detail: refundReason });
    told.at(refundedAt, 'payment.refunded', { id, amount }, 'payment.refund');
  }
  for (const { id, openedAt, releasedAt, reason } of disputes) {
    told.at(openedAt, 'dispute.opened', { id, detail: reason });
    told.at(releasedAt, 'dispute.released', { id });
  }
  for (const { id, kind, createdAt, sentAt } of messages) {
    if (kind === 'order.reminder') told.at(createdAt, 'order.reminded', {}, 'order.remind');
    told.at(sentAt, 'message.sent', { id, detail: kind }, CAUSE_OF_NEWS[kind]);
  }
  const unpaid = unpaidRace(picture);
  if (unpaid) told.at(unpaid.at, unpaid.what, { by: unpaid.by });
  return told.all();
}

/**
 * What became of a payment of a race that left no payment. The close waits for a payment that has
 * begun. So if an order closed during a second attempt, or while one is still leased, the process
 * that was paying had died.
 */
function unpaidRace({
  status,
  closedAt,
  payments,
  delays,
}: Picture): { at: Date; what: What; by: string | null } | undefined {
  const race = delays.find(({ name }) => name === 'race.pay');
  if (!race || !closedAt || status !== 'CLOSED' || payments.length > 0) return undefined;
  const { endedAt, attempts, by } = race;
  if (endedAt !== null) {
    return attempts > 1
      ? { at: closedAt, what: 'payment.broken', by: null }
      : { at: endedAt, what: 'payment.refused', by };
  }
  const hasBegun = race.race === 'close-while-paid' && attempts > 0;
  return hasBegun ? { at: closedAt, what: 'payment.broken', by } : undefined;
}

/** Whether it belongs into the strip: one line for each event, none for its consequences. */
export const isNews = ({ what, detail }: Happening): boolean =>
  what === 'message.sent'
    ? detail === 'order.placed'
    : what !== 'payment.captured' && !what.startsWith('delay.');

class Teller {
  readonly #happenings: Happening[] = [];
  /** Delays that have caused nothing so far. */
  readonly #idle: Set<DelayRow>;

  constructor(private readonly picture: Picture) {
    this.#idle = new Set(picture.delays.filter(({ endedAt }) => endedAt !== null));
  }

  /** @param cause name of the delay that does this */
  at(
    at: Date | null | undefined,
    what: What,
    facts: Partial<Happening> = {},
    cause?: string,
  ): void {
    if (!at) return;
    const { id: orderId, no, delays } = this.picture;
    const by = delays.find((delay) => delay.name === cause && isCause(delay, what, at));
    if (by) this.#idle.delete(by);
    this.#happenings.push({
      at: at.toISOString(),
      what,
      orderId,
      no,
      delay: by?.name ?? null,
      by: by?.by ?? null,
      lateMs: by ? tenths(by.lateMs) : null,
      stock: null,
      amount: null,
      detail: null,
      ...facts,
      id: [what, facts.id ?? no].join(':'),
    });
  }

  all(): Happening[] {
    for (const { id, endedAt, state, name, by, lateMs, error } of this.#idle) {
      const what = { completed: 'delay.idle', cancelled: 'delay.cancelled', dead: 'delay.dead' }[
        state as string
      ] as What | undefined;
      if (what)
        this.at(endedAt, what, { id, delay: name, by, lateMs: tenths(lateMs), detail: error });
    }
    return this.#happenings.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  }
}

/**
 * A message is sent after the delay that wrote it has ended; everything else happens while it runs.
 */
function isCause({ dueAt, lateMs, endedAt, state }: DelayRow, what: What, at: Date): boolean {
  if (state !== 'completed' || endedAt === null || lateMs === null) return false;
  if (what === 'message.sent') return true;
  const begunMs = dueAt.getTime() + lateMs;
  const atMs = at.getTime();
  return begunMs - ROUNDING_MS <= atMs && atMs <= endedAt.getTime() + ROUNDING_MS;
}
