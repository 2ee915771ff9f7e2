import { Test } from '@nestjs/testing';
import { DelayEvents, DelayInvalidError, DelayService } from 'nestjs-delay-queue';
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
});
