/** Here nobody declares `DelayPayloads`: any name goes, and each payload is looked at as it is given. */
import { DelayService, OnDelay, type Delay } from 'nestjs-delay-queue';

interface Close {
  orderId: string;
  items: readonly { sku: string; quantity?: number }[];
}

export class Orders {
  constructor(private readonly delays: DelayService) {}

  @OnDelay('order.close', { timeout: process.env.TIMEOUT ?? '30s' })
  async close(delay: Delay): Promise<void> {
    const { orderId } = delay.payload as Close;
    await this.delays.schedule('order.closed', { orderId }, { after: '1s' });
  }

  async place(close: Close, anything: unknown, at: Date, maybe: string | undefined) {
    await this.delays.schedule('order.close', close, { after: '30m', key: close.orderId });
    await this.delays.schedule('order.close', anything, { at });
    await this.delays.schedule('order.close', [1, 'two', null, { three: true }], { at });
    // @ts-expect-error -- a Date
    await this.delays.schedule('order.close', { at }, { at });
    // @ts-expect-error -- a function
    await this.delays.schedule('order.close', { run: () => {} }, { at });
    // @ts-expect-error -- a symbol
    await this.delays.schedule('order.close', Symbol.iterator, { at });
    // @ts-expect-error -- a bigint
    await this.delays.schedule('order.close', { many: BigInt(1) }, { at });
    // @ts-expect-error -- a Map
    await this.delays.schedule('order.close', new Map([[1, 2]]), { at });
    // @ts-expect-error -- a member that may be undefined
    await this.delays.schedule('order.close', { maybe }, { at });
  }
}
