import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { whileHeld, whileOrderHeld } from './support/faults.js';
import { RunningShop, type Answer } from './support/running-shop.js';

describe('extending', () => {
  const shop = RunningShop.forAll();

  it.each([
    ['the confirmation has the order first', 'it is COMPLETED', ['confirm', 'extend'] as const],
    [
      'it has the order first, and the confirmation has begun',
      'it is just being confirmed',
      ['extend', 'confirm'] as const,
    ],
  ])('is too late when %s', async (_, why, turns) => {
    const { id } = await shop.orderAfter('pay', 'ship');
    let extending: Promise<Answer> | undefined;
    const begin = {
      extend: () => void (extending = shop.post(`/orders/${id}/extend`)),
      confirm: () => shop.fallsDue('order.confirm', id),
    };
    await whileOrderHeld(shop, id, async () => {
      for (const [before, turn] of turns.entries()) {
        await begin[turn]();
        await shop.untilWaiting(before + 1);
      }
    });
    const detail = `the order cannot be extended: ${why}`;
    expect(await extending).toMatchObject({ status: 409, body: { detail } });
    const order = await shop.orderWhen(id, ({ status }) => status === 'COMPLETED');
    expect(order.extended).toBe(false);
  });

  it('is in time when its time comes while the extension is not committed yet', async () => {
    const { id, autoConfirmAt, terms } = await shop.orderAfter('pay', 'ship');
    const witness = await shop.orderAfter('pay', 'ship');
    // The last statement of an extension waits: by then the delay's row is its own.
    await shop.sql(
      `CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
       CREATE TRIGGER held BEFORE UPDATE OF auto_confirm_at ON orders
       FOR EACH ROW EXECUTE FUNCTION held()`,
    );
    const [extending] = await whileHeld(shop, ['SELECT pg_advisory_xact_lock(1)'], async () => {
      // Longer than an extension takes to get there; the witness tells that it has passed.
      const at = new Date(Date.now() + 5_000);
      const due = [id, witness.id].map((orderId) => ({ payload: { orderId }, key: orderId, at }));
      await shop.app
        .get(DelayService)
        .scheduleMany(due.map((item) => ({ name: 'order.confirm' as const, ...item })));
      const answer = shop.post(`/orders/${id}/extend`);
      await shop.untilWaiting(1);
      await shop.orderWhen(witness.id, ({ status }) => status === 'COMPLETED');
      expect((await shop.order(id)).status).toBe('SHIPPED');
      return [answer];
    });
    expect((await extending).status).toBe(200);
    await shop.sql('DROP FUNCTION held CASCADE');
    const extendedTo = new Date(Date.parse(autoConfirmAt!) + terms.confirmAfterMs).toISOString();
    expect(await shop.order(id)).toMatchObject({
      status: 'SHIPPED',
      extended: true,
      autoConfirmAt: extendedTo,
      delays: [{ name: 'order.confirm', state: 'scheduled', dueAt: extendedTo, attempts: 0 }],
    });
  });

  it('gives a confirmation that was given up its time again', async () => {
    const { id, autoConfirmAt, terms } = await shop.orderAfter('pay', 'ship');
    const poison = { after: 0, key: id, maxAttempts: 1 };
    await shop.app.get(DelayService).schedule('order.confirm', { orderId: 'no uuid' }, poison);
    await shop.orderWhen(id, ({ delays }) => delays[0]?.state === 'dead');
    const extended = await shop.act(id, 'extend');
    const dueAt = new Date(Date.parse(autoConfirmAt!) + terms.confirmAfterMs).toISOString();
    expect(extended.autoConfirmAt).toBe(dueAt);
    expect(extended.delays).toEqual([
      { name: 'order.confirm', state: 'scheduled', dueAt, attempts: 0 },
    ]);
  });
});
