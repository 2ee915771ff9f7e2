/** The merchants, with the next and the last reminder; instants as the session writes them. */
export const REMINDED_MERCHANTS = `
  SELECT id, name, time_zone AS "timeZone",
         (SELECT due_at FROM delay_queue.delay
          WHERE name = 'merchant.remind' AND key = time_zone AND leased_by IS NULL) AS "nextReminderAt",
         (SELECT json_build_object('at', due_at, 'orders', orders, 'oldestPaidAt', oldest_paid_at)
          FROM merchant_reminder WHERE merchant_id = merchant.id
          ORDER BY due_at DESC LIMIT 1) AS "lastReminder"
  FROM merchant`;

/** A row of {@link REMINDED_MERCHANTS}. */
export interface RemindedMerchant {
  id: string;
  name: string;
  timeZone: string;
  nextReminderAt: Date | string | null;
  lastReminder: { at: string; orders: number; oldestPaidAt: string } | null;
}

const iso = (instant: Date | string): string => new Date(instant).toISOString();

/** As the API returns it. */
export const remindersOf = ({ timeZone, nextReminderAt, lastReminder }: RemindedMerchant) => ({
  timeZone,
  nextReminderAt: nextReminderAt && iso(nextReminderAt),
  lastReminder: lastReminder && {
    at: iso(lastReminder.at),
    orders: lastReminder.orders,
    oldestPaidAt: iso(lastReminder.oldestPaidAt),
  },
});
