import { expect, it } from '@jest/globals';
import { checksOf } from '../../../../src/demo/race/checks.js';
import type { Ledger } from '../../../../src/demo/race/ledger.js';
import type { Picture } from '../../../../src/demo/race/picture.js';

const DUE_MS = 1_000_000;
const SKU = 'RACE-101';

interface History {
  ledger: Ledger;
  picture: Picture;
}

const ANSWERED = 'every payment was answered';
const TOLD_PAID = 'an order with the answer "paid" is paid';
const TOLD_LATE = 'a payment with the answer "too late" is refunded';
const MONEY = 'money is kept for a paid order, or goes back';
const ENDED = 'every order was paid or closed';
const EARLY = 'no order was closed before its time';
const TWICE = 'no order was closed twice, or although it is paid';
const STOCK = 'stock is what open and paid orders leave';

const paid = (orderId: string, status: 'CAPTURED' | 'REFUNDED', capturedAtMs: number) => {
  return { orderId, transaction: `of ${orderId}`, amount: 500, status, capturedAtMs };
};

const closed = (id: string, no: number): Picture['orders'][0] => {
  const times = { payDeadlineMs: DUE_MS, paidAtMs: null, closedAtMs: DUE_MS + 1 };
  return { id, no, status: 'CLOSED', ...times };
};

const told = (id: string, status: 'CAPTURED' | 'REFUND_PENDING' | null): Ledger['orders'][0] => ({
  id,
  total: 500,
  payDeadlineMs: DUE_MS,
  home: 0,
  items: [{ sku: SKU, quantity: 2 }],
  payment: status && {
    transaction: `of ${id}`,
    amount: 500,
    asked: 1,
    answer: { paymentId: `p-${id}`, status, repeated: false },
  },
});

/** Order 1001 was paid in time, 1002 too late, 1003 never; each holds two pieces. */
function history(): History {
  return {
    ledger: {
      closer: 'naive',
      orders: [told('a', 'CAPTURED'), told('b', 'REFUND_PENDING'), told('c', null)],
      killed: { process: 1, atMs: DUE_MS - 1, held: [], owned: ['c'] },
      paused: null,
    },
    picture: {
      nowMs: DUE_MS + 5_000,
      orders: [
        { ...closed('a', 1001), status: 'PAID', paidAtMs: DUE_MS - 2, closedAtMs: null },
        closed('b', 1002),
        closed('c', 1003),
      ],
      payments: [paid('a', 'CAPTURED', DUE_MS - 2), paid('b', 'REFUNDED', DUE_MS + 3)],
      stock: [{ sku: SKU, stock: 98, initialStock: 100 }],
      closes: [
        { orderId: 'b', by: 'process 1' },
        { orderId: 'c', by: 'process 2' },
      ],
    },
  };
}

function leaveOpen({ picture }: History): void {
  Object.assign(picture.orders[2]!, { status: 'UNPAID', closedAtMs: null });
  picture.stock[0]!.stock = 96;
}

/** Closed once more than that: its pieces are back once too often. */
function closeAgain({ picture }: History, orderId: string): void {
  picture.closes.push({ orderId, by: 'process 1' });
  picture.stock[0]!.stock = 100;
}

const FAULTS: [what: string, doctor: (history: History) => void, Record<string, string[]>][] = [
  ['nothing where all is right', () => {}, {}],
  [
    'a payment that nobody answered',
    ({ ledger }) => Object.assign(ledger.orders[0]!.payment!, { answer: null, asked: 4 }),
    { [ANSWERED]: ['#1001 asked 4 times'] },
  ],
  [
    'an order that was closed although its buyer was told "paid", and its money',
    ({ picture }) => {
      Object.assign(picture.orders[0]!, { status: 'CLOSED', closedAtMs: DUE_MS + 0.5 });
      picture.stock[0]!.stock = 100;
    },
    {
      [TOLD_PAID]: [
        '#1001 told "paid", yet CLOSED (paid 2.0 ms before its deadline, closed 0.5 ms after it), money kept',
      ],
      [MONEY]: ['500 cents kept for orders that are not paid'],
    },
  ],
  [
    'one who was told "too late" and whose money was kept',
    ({ picture }) => (picture.payments[1]!.status = 'CAPTURED'),
    {
      [TOLD_LATE]: ['#1002 told "too late", yet CLOSED and the money kept'],
      [MONEY]: ['500 cents kept for orders that are not paid'],
    },
  ],
  [
    'a payment that is on record with less than was paid',
    ({ picture }) => (picture.payments[0]!.amount = 499),
    { [MONEY]: ['1 cents not on record'] },
  ],
  [
    'a payment that is not on record at all',
    ({ picture }) => picture.payments.pop(),
    {
      [TOLD_LATE]: ['#1002 told "too late", and its payment is not on record'],
      [MONEY]: ['500 cents not on record'],
    },
  ],
  [
    'an order that nobody closes, and whose timer it was',
    leaveOpen,
    { [ENDED]: ['#1003 is open for good: its timer died with process 2'] },
  ],
  [
    'an order that no scan closes',
    (doctored) => {
      doctored.ledger.closer = 'cron';
      leaveOpen(doctored);
    },
    { [ENDED]: ['#1003 is still open'] },
  ],
  [
    'an order that was lost',
    ({ picture }) => {
      picture.orders.pop();
      picture.stock[0]!.stock = 96;
    },
    { [ENDED]: ['#c is not in the database'] },
  ],
  [
    'an order that was closed early',
    ({ picture }) => (picture.orders[2]!.closedAtMs = DUE_MS - 0.25),
    { [EARLY]: ['#1003 closed 0.3 ms early'] },
  ],
  [
    'an order that was closed twice, and its stock',
    (doctored) => closeAgain(doctored, 'c'),
    {
      [TWICE]: [
        '#1003 closed by process 2 and by process 1: its 2 pieces went back on sale 2 times',
      ],
      [STOCK]: [`${SKU}: 2 too many`],
    },
  ],
  [
    'a paid order whose stock went back on sale',
    (doctored) => closeAgain(doctored, 'a'),
    {
      [TWICE]: ['#1001 PAID, yet closed by process 1: its 2 pieces went back on sale'],
      [STOCK]: [`${SKU}: 2 too many`],
    },
  ],
];

it.each(FAULTS)('the checks of the race find %s', (_, doctor, expected) => {
  const doctored = history();
  doctor(doctored);
  const broken = checksOf(doctored.ledger, doctored.picture).filter((its) => its.broken.length > 0);
  expect(Object.fromEntries(broken.map((check) => [check.name, check.broken]))).toEqual(expected);
});
