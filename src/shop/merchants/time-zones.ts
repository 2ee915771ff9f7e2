export const TIME_ZONE_OF_THE_SHOP = 'Asia/Shanghai';

/** Where merchants may be. Each of them has a `merchant.remind` of its own, so this is a list. */
export const TIME_ZONES = [
  'America/Los_Angeles',
  'America/New_York',
  TIME_ZONE_OF_THE_SHOP,
  'Asia/Tokyo',
  'Europe/Berlin',
  'Europe/London',
] as const;
