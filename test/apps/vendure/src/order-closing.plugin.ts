import { PluginCommonModule, ProcessContext, VendurePlugin } from '@vendure/core';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { OrderClosing } from './order-closing';
import { orderLock } from './order-lock';

@VendurePlugin({
  compatibility: '^3.7.0',
  imports: [
    PluginCommonModule,
    DelayQueueModule.forRootAsync({
      imports: [PluginCommonModule],
      inject: [ProcessContext],
      useFactory: ({ isWorker }: ProcessContext) => ({ worker: isWorker }),
    }),
  ],
  providers: [OrderClosing],
  configuration(config) {
    const { orderOptions } = config;
    orderOptions.process = [orderLock, ...orderOptions.process];
    orderOptions.stockAllocationStrategy = {
      shouldAllocateStock: (_ctx, _fromState, toState) => toState === 'ArrangingPayment',
    };
    return config;
  },
})
export class OrderClosingPlugin {}
