import type { Ledger, LedgerOrder, LedgerPayment } from './ledger.js';
import type { Picture, PicturedOrder, PicturedPayment } from './picture.js';

/** A rule, and what breaks it: one line for each order or SKU. */
export interface RaceCheck {
  name: string;
  /** How many were checked, and how many of them are wrong. */
  detail: string;
  broken: string[];
}

interface Story {
  told: LedgerOrder;
  /** `undefined`: it is not in the database. */
  is: PicturedOrder | undefined;
  payments: PicturedPayment[];
  closedBy: string[];
}

type Paid = Story & { told: { payment: LedgerPayment } };

/**
 * Checks that need a record of the shop's answers. The shop's own invariants only see the database.
 */
export function checksOf(ledger: Ledger, picture: Picture): RaceCheck[] {
  const stories = storiesOf(ledger, picture);
  const paid = stories.filter((story): story is Paid => story.told.payment !== null);
  return [
    check('every payment was answered', paid, ({ told }) =>
      told.payment.answer ? null : `asked ${told.payment.asked} times`,
    ),
    check('an order with the answer "paid" is paid', toldOf(paid, 'CAPTURED'), notPaid),
    check('a payment with the answer "too late" is refunded', toldOf(paid, 'REFUND'), notRefunded),
    moneyCheck(paid),
    check('every order was paid or closed', stories, (story) => unended(story, ledger)),
    check('no order was closed before its time', stories, tooEarly),
    check('no order was closed twice, or although it is paid', stories, wronglyClosed),
    stockCheck(stories, picture),
  ];
}

function storiesOf({ orders }: Ledger, picture: Picture): Story[] {
  const known = new Map(picture.orders.map((order) => [order.id, order]));
  const payments = perOrder(picture.payments);
  const closes = perOrder(picture.closes);
  return orders
    .map((told) => ({
      told,
      is: known.get(told.id),
      payments: payments.get(told.id) ?? [],
      closedBy: (closes.get(told.id) ?? []).map(({ by }) => by),
    }))
    .toSorted((a, b) => (a.is?.no ?? 0) - (b.is?.no ?? 0));
}

export const countOf = (all: readonly unknown[], broken: readonly unknown[]): string =>
  broken.length === 0 ? String(all.length) : `${broken.length} of ${all.length}`;

function perOrder<Row extends { orderId: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const grouped = new Map<string, Row[]>();
  for (const row of rows) grouped.set(row.orderId, [...(grouped.get(row.orderId) ?? []), row]);
  return grouped;
}

function check<Of extends Story>(
  name: string,
  stories: readonly Of[],
  faultOf: (story: Of) => string | null,
): RaceCheck {
  const broken = stories.flatMap((story) => {
    const fault = faultOf(story);
    return fault === null ? [] : [`#${story.is?.no ?? story.told.id} ${fault}`];
  });
  return { name, detail: countOf(stories, broken), broken };
}

const toldOf = (paid: readonly Paid[], status: string): Paid[] =>
  paid.filter(({ told }) => told.payment.answer?.status.startsWith(status));

function notPaid({ is, payments, told }: Paid): string | null {
  const kept = payments.find(({ transaction }) => transaction === told.payment.transaction);
  if (is?.status === 'PAID' && kept?.status === 'CAPTURED') return null;
  const money =
    kept?.status === 'CAPTURED' ? 'money kept' : `money ${kept?.status ?? 'not on record'}`;
  return `told "paid", yet ${is?.status ?? 'unknown'}${apart(is, kept)}, ${money}`;
}

/** How far apart payment and close were. */
function apart(is?: PicturedOrder, payment?: PicturedPayment): string {
  if (!is?.closedAtMs || !payment) return '';
  const at = (instantMs: number): string => {
    const lateMs = instantMs - is.payDeadlineMs;
    return `${Math.abs(lateMs).toFixed(1)} ms ${lateMs < 0 ? 'before' : 'after'}`;
  };
  return ` (paid ${at(payment.capturedAtMs)} its deadline, closed ${at(is.closedAtMs)} it)`;
}

function notRefunded({ is, payments, told }: Paid): string | null {
  const back = payments.find(({ transaction }) => transaction === told.payment.transaction);
  if (!back) return 'told "too late", and its payment is not on record';
  if (back.status === 'CAPTURED') return `told "too late", yet ${is?.status} and the money kept`;
  return null;
}

/** In cents: every payment is kept for a paid order, or refunded. */
function moneyCheck(paid: readonly Paid[]): RaceCheck {
  let [taken, kept, back, lost] = [0, 0, 0, 0];
  for (const { told, is, payments } of paid) {
    taken += told.payment.amount;
    for (const { amount, status } of payments) {
      if (status !== 'CAPTURED') back += amount;
      else if (is?.status === 'PAID') kept += amount;
      else lost += amount;
    }
  }
  const broken = [];
  if (lost > 0) broken.push(`${lost} cents kept for orders that are not paid`);
  const off = taken - kept - back - lost;
  if (off !== 0) broken.push(`${Math.abs(off)} cents ${off > 0 ? 'not' : 'twice'} on record`);
  return { name: 'money is kept for a paid order, or goes back', detail: `${taken} cents`, broken };
}

function unended({ told, is }: Story, { closer, killed }: Ledger): string | null {
  if (is && is.status !== 'UNPAID') return null;
  if (!is) return 'is not in the database';
  if (closer === 'naive' && killed?.owned.includes(told.id)) {
    return `is open for good: its timer died with process ${killed.process + 1}`;
  }
  return 'is still open';
}

const tooEarly = ({ is }: Story): string | null =>
  is?.closedAtMs != null && is.closedAtMs < is.payDeadlineMs
    ? `closed ${(is.payDeadlineMs - is.closedAtMs).toFixed(1)} ms early`
    : null;

function wronglyClosed({ is, closedBy, told }: Story): string | null {
  const by = closedBy.join(' and by ');
  const pieces = told.items.reduce((sum, { quantity }) => sum + quantity, 0);
  if (closedBy.length > 1) {
    return `closed by ${by}: its ${pieces} pieces went back on sale ${closedBy.length} times`;
  }
  if (is?.status !== 'PAID' || closedBy.length === 0) return null;
  return `PAID, yet closed by ${by}: its ${pieces} pieces went back on sale`;
}

/** Computed from what buyers ordered, not from the orders in the database. */
function stockCheck(stories: readonly Story[], { stock }: Picture): RaceCheck {
  const held = new Map<string, number>();
  for (const { told, is } of stories) {
    if (is?.status === 'CLOSED') continue;
    for (const { sku, quantity } of told.items) held.set(sku, (held.get(sku) ?? 0) + quantity);
  }
  const broken = stock.flatMap(({ sku, stock: found, initialStock }) => {
    const off = found - initialStock + (held.get(sku) ?? 0);
    return off === 0 ? [] : [`${sku}: ${Math.abs(off)} ${off > 0 ? 'too many' : 'too few'}`];
  });
  return {
    name: 'stock is what open and paid orders leave',
    detail: countOf(stock, broken),
    broken,
  };
}
