import { configureDefaultOrderProcess, DefaultLogger, LogLevel } from '@vendure/core';
import type { VendureConfig } from '@vendure/core';
import { delayQueueMigrations } from 'nestjs-delay-queue';
import { card } from './card';
import { OrderClosingPlugin } from './order-closing.plugin';

export const config: VendureConfig = {
  apiOptions: {
    hostname: '127.0.0.1',
    port: Number(process.env.PORT ?? 3000),
    shopApiPath: 'shop',
  },
  authOptions: { tokenMethod: 'bearer' },
  dbConnectionOptions: {
    type: 'postgres',
    url: process.env.DATABASE_URL,
    migrations: [...delayQueueMigrations()],
  },
  logger: new DefaultLogger({ level: LogLevel.Warn }),
  orderOptions: {
    process: [
      configureDefaultOrderProcess({
        arrangingPaymentRequiresCustomer: false,
        arrangingPaymentRequiresShipping: false,
      }),
    ],
  },
  paymentOptions: { paymentMethodHandlers: [card] },
  plugins: [OrderClosingPlugin],
};
