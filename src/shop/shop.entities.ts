import { Campaign, CampaignRecipient } from './campaigns/campaign.entity.js';
import { Sku } from './catalog/sku.entity.js';
import { Dispute, FrozenTimer } from './disputes/dispute.entity.js';
import { MerchantReminder } from './merchants/merchant-reminder.entity.js';
import { Merchant } from './merchants/merchant.entity.js';
import { Order, OrderItem } from './orders/order.entity.js';
import { OutboxMessage } from './outbox/outbox-message.entity.js';
import { SampleCampaignMessage } from './outbox/sample-campaign-message.entity.js';
import { SampleMessage } from './outbox/sample-message.entity.js';
import { PaymentConflict } from './payments/payment-conflict.entity.js';
import { Payment } from './payments/payment.entity.js';
import { SampleProviderMood, SampleRefund } from './payments/sample-provider.entities.js';
import { Review } from './reviews/review.entity.js';

export const shopEntities = [
  Merchant,
  MerchantReminder,
  Sku,
  Order,
  OrderItem,
  Payment,
  Review,
  OutboxMessage,
  SampleMessage,
  SampleCampaignMessage,
  PaymentConflict,
  SampleProviderMood,
  SampleRefund,
  Dispute,
  FrozenTimer,
  Campaign,
  CampaignRecipient,
];
