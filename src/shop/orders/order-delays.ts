import type { DelayInfo, DelayRecord } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { ORDER_DELAYS } from '../delays.js';
import type { Payment } from '../payments/payment.entity.js';

/** What is still to happen by itself, as much as the view of an order says of it. */
export interface LiveDelay {
  name: string;
  key: string;
  state: DelayInfo['state'];
  dueAt: Date;
  attempts: number;
  lastError: string | null;
}

/** What has happened by itself. */
export type EndedDelay = Pick<
  DelayRecord,
  'name' | 'state' | 'dueAt' | 'endedAt' | 'latenessMs' | 'attempts' | 'error'
>;

const NAMES = [...ORDER_DELAYS, 'payment.refund'];
const ENDED_MAX = 500;

/**
 * The delays of an order and of the refunds of its payments, from the library's documented tables:
 * `DelayService` answers of one name and key at a time, and this asks of half a dozen.
 */
export const liveDelays = (
  manager: EntityManager,
  orderId: string,
  payments: Payment[],
): Promise<LiveDelay[]> =>
  manager.query(
    `SELECT name, key, due_at AS "dueAt", attempts, last_error AS "lastError",
            CASE WHEN wake_at = 'infinity' THEN 'dead'
                 WHEN leased_until > clock_timestamp() THEN 'running'
                 WHEN attempts > 0 THEN 'retrying' ELSE 'scheduled' END AS state
     FROM delay_queue.delay WHERE name = ANY ($1::text[]) AND key = ANY ($2::text[])
     ORDER BY array_position($1::text[], name), key`,
    [NAMES, keysOf(orderId, payments)],
  );

export const endedDelays = (
  manager: EntityManager,
  orderId: string,
  payments: Payment[],
): Promise<EndedDelay[]> =>
  manager.query(
    `SELECT name, state, due_at AS "dueAt", ended_at AS "endedAt", lateness_ms AS "latenessMs",
            attempts, error
     FROM delay_queue.history WHERE name = ANY ($1::text[]) AND key = ANY ($2::text[])
     ORDER BY ended_at DESC LIMIT ${ENDED_MAX}`,
    [NAMES, keysOf(orderId, payments)],
  );

const keysOf = (orderId: string, payments: Payment[]): string[] => [
  orderId,
  ...payments.map(({ id }) => id),
];
