/**
 * Never run: `tsc` compares what the bench says of these packages with what they say themselves, in
 * `npm run bench:peers`. The bench is checked where none of them is installed, so it cannot use
 * their types.
 */
import * as bullmq from 'bullmq';
import * as graphileWorker from 'graphile-worker';
import * as ioredis from 'ioredis';
import * as pgBoss from 'pg-boss';

/** @type {import('../adapters/bullmq.surface.js').BullMQ} */
export const bullmqPackage = bullmq;

/** @type {import('../adapters/graphile-worker.surface.js').GraphileWorker} */
export const graphileWorkerPackage = graphileWorker;

/** @type {import('../server/redis.surface.js').RedisPackage} */
export const redisPackage = ioredis;

/** @type {import('../adapters/pg-boss.surface.js').PgBossPackage} */
export const pgBossPackage = pgBoss;

// What the recipes in `docs/recipes` use of the clients that people move away from.

/** @type {(queue: bullmq.Queue) => import('../../test/docs/clients/bullmq.js').Queue} */
export const bullmqQueue = (queue) => queue;

/** @type {(channel: import('amqplib').Channel) => import('../../test/docs/clients/amqplib.js').Channel} */
export const amqpChannel = (channel) => channel;

/** @type {(redis: ioredis.Redis) => import('../../test/docs/clients/ioredis.js').Redis} */
export const redisClient = (redis) => redis;
