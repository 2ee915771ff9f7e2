import { describe, expect, it } from '@jest/globals';
import { checksOf } from '../../../../src/demo/race/checks.js';
import type { Ledger } from '../../../../src/demo/race/ledger.js';
import type { Picture } from '../../../../src/demo/race/picture.js';

const DUE_MS = 1_000_000;
const SKU = 'RACE-101';

interface History {
  ledger: Ledger;
  picture: Picture;
}

/** Order 1001 was paid in time, 1002 too late, 1003 never; each holds two pieces. */
function history(): History {
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
  const closed = { status: 'CLOSED' as const, payDeadlineMs: DUE_MS, paidAtMs: null };
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
        {
          id: 'a',
          no: 1001,
          status: 'PAID',
          payDeadlineMs: DUE_MS,
          paidAtMs: DUE_MS - 2,
          closedAtMs: null,
        },
        { id: 'b', no: 1002, ...closed, closedAtMs: DUE_MS + 1 },
        { id: 'c', no: 1003, ...closed, closedAtMs: DUE_MS + 1 },
      ],
      payments: [
        {
          orderId: 'a',
          transaction: 'of a',
          status: 'CAPTURED',
          amount: 500,
          capturedAtMs: DUE_MS - 2,
        },
        {
          orderId: 'b',
          transaction: 'of b',
          status: 'REFUNDED',
          amount: 500,
          capturedAtMs: DUE_MS + 3,
        },
      ],
      stock: [{ sku: SKU, stock: 98, initialStock: 100 }],
      closes: [
        { orderId: 'b', by: 'process 1' },
        { orderId: 'c', by: 'process 2' },
      ],
    },
  };
}

/** What is broken in the history after that change. */
function brokenAfter(doctor: (history: History) => void): Record<string, string[]> {
  const doctored = history();
  doctor(doctored);
  const checks = checksOf(doctored.ledger, doctored.picture);
  return Object.fromEntries(
    checks.filter(({ broken }) => broken.length > 0).map(({ name, broken }) => [name, broken]),
  );
}

function leaveOpen({ picture }: History): void {
  Object.assign(picture.orders[2]!, { status: 'UNPAID', closedAtMs: null });
  picture.stock[0]!.stock = 96;
}

describe('the checks of the race', () => {
  it('have nothing to say of a history that is right', () => {
    expect(brokenAfter(() => {})).toEqual({});
  });

  it('find a payment that nobody answered', () => {
    const broken = brokenAfter(({ ledger }) => {
      Object.assign(ledger.orders[0]!.payment!, { answer: null, asked: 4 });
    });
    expect(broken).toEqual({ 'every payment was answered': ['#1001 asked 4 times'] });
  });

  it('find an order that was closed although its buyer was told "paid", and its money', () => {
    const broken = brokenAfter(({ picture }) => {
      Object.assign(picture.orders[0]!, { status: 'CLOSED', closedAtMs: DUE_MS + 0.5 });
      picture.stock[0]!.stock = 100;
    });
    expect(broken).toEqual({
      'who was told "paid" has a paid order': [
        '#1001 told "paid", yet CLOSED (paid 2.0 ms before its deadline, closed 0.5 ms after it), money kept',
      ],
      'money is kept for a paid order, or goes back': [
        '500 cents kept for orders that are not paid',
      ],
    });
  });

  it('find one who was told "too late" and whose money was kept', () => {
    const broken = brokenAfter(({ picture }) => {
      picture.payments[1]!.status = 'CAPTURED';
    });
    expect(broken).toEqual({
      'who was told "too late" gets the money back': [
        '#1002 told "too late", yet CLOSED and the money kept',
      ],
      'money is kept for a paid order, or goes back': [
        '500 cents kept for orders that are not paid',
      ],
    });
  });

  it('find a payment that is on record with less than was paid', () => {
    const broken = brokenAfter(({ picture }) => {
      picture.payments[0]!.amount = 499;
    });
    expect(broken).toEqual({
      'money is kept for a paid order, or goes back': ['1 cents not on record'],
    });
  });

  it('find a payment that is not on record at all', () => {
    const broken = brokenAfter(({ picture }) => {
      picture.payments.pop();
    });
    expect(broken).toMatchObject({
      'who was told "too late" gets the money back': [
        '#1002 told "too late", and its payment is not on record',
      ],
      'money is kept for a paid order, or goes back': ['500 cents not on record'],
    });
  });

  it('find an order that nobody closes, and say whose timer it was', () => {
    expect(brokenAfter(leaveOpen)).toEqual({
      'every order was paid or closed': ['#1003 is open for good: its timer died with process 2'],
    });
    const scanned = brokenAfter((doctored) => {
      doctored.ledger.closer = 'cron';
      leaveOpen(doctored);
    });
    expect(scanned).toEqual({ 'every order was paid or closed': ['#1003 is still open'] });
  });

  it('find an order that was lost', () => {
    const broken = brokenAfter(({ picture }) => {
      picture.orders.pop();
      picture.stock[0]!.stock = 96;
    });
    expect(broken).toEqual({ 'every order was paid or closed': ['#c is not in the database'] });
  });

  it('find an order that was closed early', () => {
    const broken = brokenAfter(({ picture }) => {
      picture.orders[2]!.closedAtMs = DUE_MS - 0.25;
    });
    expect(broken).toEqual({
      'no order was closed before its time': ['#1003 closed 0.3 ms early'],
    });
  });

  it('find an order that was closed twice, and its stock', () => {
    const broken = brokenAfter(({ picture }) => {
      picture.closes.push({ orderId: 'c', by: 'process 1' });
      picture.stock[0]!.stock = 100;
    });
    expect(broken).toEqual({
      'no order was closed twice, or although it is paid': [
        '#1003 closed by process 2 and by process 1: its 2 pieces went back on sale 2 times',
      ],
      'stock is what open and paid orders leave': [`${SKU}: 2 too many`],
    });
  });

  it('find a paid order whose stock went back on sale', () => {
    const broken = brokenAfter(({ picture }) => {
      picture.closes.push({ orderId: 'a', by: 'process 1' });
      picture.stock[0]!.stock = 100;
    });
    expect(broken).toEqual({
      'no order was closed twice, or although it is paid': [
        '#1001 PAID, yet closed by process 1: its 2 pieces went back on sale',
      ],
      'stock is what open and paid orders leave': [`${SKU}: 2 too many`],
    });
  });
});
