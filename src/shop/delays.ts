/**
 * Everything the shop puts off, with what each delay carries. Keys: the order's id, and for a
 * refund the payment's.
 */
declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    /** The time to pay is over. */
    'order.close': { orderId: string };
    /** The buyer has had long enough to say that nothing arrived. */
    'order.confirm': { orderId: string };
    /** The buyer has had long enough to rate. */
    'order.rate': { orderId: string };
    /** Money that belongs to no open order goes back. */
    'payment.refund': { paymentId: string };
  }
}

/** The delays whose key is an order's id. */
export const ORDER_DELAYS = ['order.close', 'order.confirm', 'order.rate'] as const;
