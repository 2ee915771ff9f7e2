export const TIME_ZONE_OF_THE_SHOP = 'Asia/Shanghai';

/** Time zones of merchants. A fixed list, because each has its own `merchant.remind`. */
export const TIME_ZONES = [
  'America/Los_Angeles',
  'America/New_York',
  TIME_ZONE_OF_THE_SHOP,
  'Asia/Tokyo',
  'Europe/Berlin',
  'Europe/London',
] as const;
