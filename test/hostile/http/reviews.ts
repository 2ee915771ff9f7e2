import { ID, post, type HostileRequest } from './request.js';

export const REVIEWS: readonly HostileRequest[] = [
  '0',
  '6',
  '-1',
  '4.5',
  '"5"',
  'null',
  '1e309',
  '[5]',
  '{}',
].map((stars) =>
  post(`/orders/${ID}/review`, `stars: ${stars}`, `{"stars":${stars}}`, { says: /^stars: / }),
);
