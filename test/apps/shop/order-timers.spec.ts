import { Test } from '@nestjs/testing';
import { DelayEvents, DelayInvalidError, DelayService } from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { AppModule } from './app.module';
import { OrderTimers } from './order-timers';

describe('OrderTimers', () => {
  it('closes an order that nobody pays', async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    const app = await module.init();
    const closed = new Promise((resolve) => app.get(DelayEvents).once('completed', resolve));
    await app.get(OrderTimers).place('from a test');
    await closed;
    expect(await app.get(OrderTimers).statusOf('from a test')).toBe('CLOSED');
    const wrong = app.get(DelayService).cancel('order.close', '');
    await expect(wrong).rejects.toBeInstanceOf(DelayInvalidError);
    await app.close();
  });

  it('is guarded: an order that nobody placed is not closed', async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    const app = await module.init();
    const refused = new Promise((resolve) => app.get(DelayEvents).once('retrying', resolve));
    const delays = app.get(DelayService);
    await delays.schedule('order.close', { orderId: 'nobody' }, { after: 0, key: 'nobody' });
    expect(await refused).toMatchObject({ cause: { code: 'DELAY_GUARD' } });
    await delays.cancel('order.close', 'nobody');
    await app.close();
  });

  it('closes it an hour later, where a test says that an hour has passed', async () => {
    const builder = Test.createTestingModule({ imports: [AppModule] });
    const module = await DelayTesting.prepare(builder).compile();
    const app = await module.init();
    const testing = DelayTesting.of(app);
    await app.get(OrderTimers).place('in the future');
    await testing.expectScheduled('order.close', 'in the future');
    const ran = await testing.advance('1h');
    expect(ran.map(({ key, outcome }) => [key, outcome])).toEqual([['in the future', 'completed']]);
    expect(await app.get(OrderTimers).statusOf('in the future')).toBe('CLOSED');
    await app.close();
  });
});
