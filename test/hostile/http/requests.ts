import { BODIES, KEYS } from './bodies.js';
import { CAMPAIGNS } from './campaigns.js';
import { DISPUTES } from './disputes.js';
import { ORDERS } from './orders.js';
import { PATHS } from './paths.js';
import { PAYMENTS } from './payments.js';
import type { HostileRequest } from './request.js';
import { REVIEWS } from './reviews.js';
import { SETTINGS } from './settings.js';

export const REQUESTS: readonly HostileRequest[] = [
  ...BODIES,
  ...ORDERS,
  ...KEYS,
  ...PATHS,
  ...PAYMENTS,
  ...REVIEWS,
  ...CAMPAIGNS,
  ...DISPUTES,
  ...SETTINGS,
];
