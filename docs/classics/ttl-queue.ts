import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { numberOf, type OpenDesign } from './design.js';

const EVERY_MS = 50;
const BEAT_EVERY_MS = 200;

/** A consumer that has not been heard of for so long is cut off, and gets its messages back too late. */
const HEARTBEAT_MS = 2_000;

/**
 * What RabbitMQ does with a queue whose messages have a time to live and a dead-letter exchange behind
 * it: a message is looked at when it is the first of the queue, and not before. Messages are durable, a
 * consumer acknowledges when it has done the work, and one whose heartbeat is missing loses them to
 * another. There is no reaching into the queue, and so no cancel.
 */
class TtlQueue {
  constructor(
    private readonly broker: DataSource,
    private readonly consumer: string,
  ) {}

  async publish(body: string, ttlMs: number): Promise<void> {
    await this.broker.query(
      `INSERT INTO ttl_queue (body, expires_at)
       VALUES ($1, clock_timestamp() + $2::float8 * interval '1 millisecond')`,
      [body, ttlMs],
    );
  }

  /** What has expired at the head goes to the queue of the consumers; what stands behind it waits. */
  async expireHead(): Promise<void> {
    await this.broker.query(
      `UPDATE ttl_queue SET ready = true
       WHERE NOT ready AND id < coalesce(
         (SELECT min(id) FROM ttl_queue WHERE NOT ready AND expires_at > clock_timestamp()),
         9223372036854775807)`,
    );
  }

  /** One message that no living consumer has. */
  async deliver(): Promise<{ id: string; body: string } | undefined> {
    const [[message]] = await this.broker.query<[{ id: string; body: string }[]]>(
      `UPDATE ttl_queue SET consumer = $1, beat_at = clock_timestamp()
       WHERE id = (SELECT id FROM ttl_queue
                   WHERE ready AND (consumer IS NULL
                     OR beat_at < clock_timestamp() - $2::float8 * interval '1 millisecond')
                   ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id, body`,
      [this.consumer, HEARTBEAT_MS],
    );
    return message;
  }

  async beat(): Promise<void> {
    await this.broker.query(
      'UPDATE ttl_queue SET beat_at = clock_timestamp() WHERE consumer = $1',
      [this.consumer],
    );
  }

  /** In vain when it was delivered to another meanwhile. */
  async acknowledge(id: string): Promise<void> {
    await this.broker.query('DELETE FROM ttl_queue WHERE id = $1 AND consumer = $2', [
      id,
      this.consumer,
    ]);
  }

  depth(): Promise<number> {
    return numberOf(this.broker, 'SELECT count(*)::int AS n FROM ttl_queue');
  }
}

/** One queue for all, each message with a time to live of its own. */
export const openTtlQueue: OpenDesign = async (shop) => {
  const queue = new TtlQueue(shop.dataSource, shop.name);
  const loop = async (): Promise<void> => {
    for (;;) {
      await pause(EVERY_MS);
      await queue.expireHead();
      const message = await queue.deliver();
      if (message === undefined) continue;
      await shop.close(message.body);
      await queue.acknowledge(message.id);
    }
  };
  setInterval(() => void queue.beat(), BEAT_EVERY_MS);
  void loop();
  return {
    schedule: (orderId, afterMs) => queue.publish(orderId, afterMs),
    cancel: async () => true,
    left: () => queue.depth(),
  };
};
