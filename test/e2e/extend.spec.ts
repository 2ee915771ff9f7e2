import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { RunningShop, type Answer } from './support/running-shop.js';

const shop = RunningShop.forAll();

/** Its confirmation is due now. */
const fallsDue = (id: string): Promise<unknown> =>
  shop.app.get(DelayService).schedule('order.confirm', { orderId: id }, { after: 0, key: id });

/** What it was refused for, once the order is confirmed, unextended. */
async function refusalOf(id: string, extending: Promise<Answer>): Promise<unknown> {
  const { status, body } = await extending;
  expect(status).toBe(409);
  const order = await shop.orderWhen(id, (seen) => seen.status === 'COMPLETED');
  expect(order.extended).toBe(false);
  return body.detail;
}

describe('extending while it confirms itself', () => {
  /** Holds what the race is about, until both are where the test wants them. */
  let holder: Client;

  beforeAll(async () => {
    holder = new Client({ connectionString: shop.database.url });
    await holder.connect();
  });
  afterEach(() => holder.query('ROLLBACK'));
  afterAll(() => holder.end());

  const holdOrder = async (id: string): Promise<void> => {
    await holder.query('BEGIN');
    await holder.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [id]);
  };

  it('is too late when the confirmation has the order first', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    await holdOrder(id);
    await fallsDue(id);
    await shop.untilWaiting(1);
    const extending = shop.post(`/orders/${id}/extend`);
    await shop.untilWaiting(2);
    await holder.query('COMMIT');
    expect(await refusalOf(id, extending)).toBe('the order cannot be extended: it is COMPLETED');
  });

  it('is too late when the extension has the order first, and the confirmation has begun', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    await holdOrder(id);
    const extending = shop.post(`/orders/${id}/extend`);
    await shop.untilWaiting(1);
    await fallsDue(id);
    await shop.untilWaiting(2);
    await holder.query('COMMIT');
    expect(await refusalOf(id, extending)).toBe(
      'the order cannot be extended: it is just being confirmed',
    );
  });

  it('is in time when its time comes while the extension is not committed yet', async () => {
    const [{ id, autoConfirmAt, terms }, witness] = [
      await shop.orderAfter('pay', 'ship'),
      await shop.orderAfter('pay', 'ship'),
    ];
    // The last statement of an extension waits: by then the delay's row is its own.
    await shop.sql(
      `CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
       CREATE TRIGGER held BEFORE UPDATE OF auto_confirm_at ON orders
       FOR EACH ROW EXECUTE FUNCTION held()`,
    );
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT pg_advisory_xact_lock(1)');
      // Longer than an extension takes to get there; the witness tells that it has passed.
      const at = new Date(Date.now() + 3_000);
      await shop.app.get(DelayService).scheduleMany(
        [id, witness.id].map((orderId) => ({
          name: 'order.confirm',
          payload: { orderId },
          key: orderId,
          at,
        })),
      );
      const extending = shop.post(`/orders/${id}/extend`);
      await shop.untilWaiting(1);
      await shop.orderWhen(witness.id, ({ status }) => status === 'COMPLETED');
      expect((await shop.order(id)).status).toBe('SHIPPED');
      await holder.query('COMMIT');
      expect((await extending).status).toBe(200);
    } finally {
      await shop.sql('DROP FUNCTION held CASCADE');
    }

    const extendedTo = new Date(Date.parse(autoConfirmAt!) + terms.confirmAfterMs).toISOString();
    expect(await shop.order(id)).toMatchObject({
      status: 'SHIPPED',
      extended: true,
      autoConfirmAt: extendedTo,
      delays: [{ name: 'order.confirm', state: 'scheduled', dueAt: extendedTo, attempts: 0 }],
    });
  });
});

it('extending gives a confirmation that was given up its time again', async () => {
  const { id, autoConfirmAt, terms } = await shop.orderAfter('pay', 'ship');
  await shop.app
    .get(DelayService)
    .schedule('order.confirm', { orderId: 'no uuid' }, { after: 0, key: id, maxAttempts: 1 });
  await shop.orderWhen(id, ({ delays }) => delays[0]?.state === 'dead');

  const extended = await shop.act(id, 'extend');

  expect(Date.parse(extended.autoConfirmAt!)).toBe(
    Date.parse(autoConfirmAt!) + terms.confirmAfterMs,
  );
  expect(extended.delays).toEqual([
    { name: 'order.confirm', state: 'scheduled', dueAt: extended.autoConfirmAt, attempts: 0 },
  ]);
});
