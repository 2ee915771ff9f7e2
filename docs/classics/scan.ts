import { setTimeout as pause } from 'node:timers/promises';
import { numberOf, type OpenDesign } from './design.js';

/** Stands for the minute of the usual scan. */
const EVERY_MS = 1_000;

/**
 * `@Cron('* * * * *')`: what is unpaid and overdue is closed, one order after the other. Nothing is kept
 * beside the orders, so nothing is lost. Each process scans.
 */
export const openScan: OpenDesign = async (shop) => {
  const loop = async (): Promise<void> => {
    for (;;) {
      await pause(EVERY_MS);
      const overdue = await shop.dataSource.query<{ id: string }[]>(
        `SELECT id FROM orders WHERE status = 'UNPAID' AND due_at <= clock_timestamp()
         ORDER BY due_at LIMIT 100`,
      );
      for (const { id } of overdue) await shop.close(id);
    }
  };
  void loop();
  return {
    schedule: async () => {},
    cancel: async () => true,
    left: () =>
      numberOf(shop.dataSource, `SELECT count(*)::int AS n FROM orders WHERE status = 'UNPAID'`),
  };
};
