import { LanguageCode, PaymentMethodHandler, TransactionalConnection } from '@vendure/core';
import { charge } from './gateway';
import { lockOrder } from './order-lock';

let connection: TransactionalConnection;

export const card = new PaymentMethodHandler({
  code: 'card',
  description: [{ languageCode: LanguageCode.en, value: 'Card' }],
  args: {},
  init(injector) {
    connection = injector.get(TransactionalConnection);
  },
  async createPayment(ctx, order, amount) {
    if ((await lockOrder(connection, ctx, order.id)) !== order.state) {
      return { amount, state: 'Declined', errorMessage: 'The order has closed' };
    }
    return { amount, state: 'Settled', transactionId: await charge(order.code, amount) };
  },
  settlePayment: () => ({ success: true }),
});
