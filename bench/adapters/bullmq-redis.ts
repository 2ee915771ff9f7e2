import { missingServer } from '../server/programs.js';
import type { RedisServer } from '../server/redis-server.js';
import {
  BULLMQ,
  BULLMQ_HANDLERS,
  type BullStore,
  fill,
  left,
  openProducer,
  openWorker,
} from './bullmq.js';
import { missingPackages, named, type PeerAdapter } from './peer.js';
import { REDIS_ALWAYS, REDIS_EVERYSEC } from './redis-stores.js';

const CONCURRENCY = 100;

export const BULLMQ_REDIS: readonly PeerAdapter[] = [
  bullmqRedis('everysec', REDIS_EVERYSEC, 'a crash loses up to a second of what was acknowledged'),
  bullmqRedis('always', REDIS_ALWAYS, 'what is acknowledged is on the disk'),
];

function bullmqRedis(fsync: string, redis: RedisServer, durability: string): PeerAdapter {
  const name = `BullMQ Redis ${fsync}`;
  const store = (): BullStore => ({ connection: { ...redis.address, maxRetriesPerRequest: null } });
  return {
    name,
    get settings() {
      return (
        `${name}: ${named(BULLMQ)}, ${named('ioredis')}, concurrency ${CONCURRENCY}, ` +
        `removeOnComplete; ${redis.settings}: ${durability}; ` +
        'its remove() answers 1 for an absent job, too'
      );
    },
    missing: () => [...missingPackages(BULLMQ, 'ioredis'), ...missingServer('redis-server')],
    elsewhere: redis,
    prepare: () => redis.empty(),
    async fill(_url, batch) {
      await fill(store(), batch);
      await redis.calm();
    },
    handlers: BULLMQ_HANDLERS,
    openWorker: (url, running, hears) => openWorker(store(), CONCURRENCY, url, running, hears),
    openProducer: () => openProducer(store()),
    left: () => left(store()),
  };
}
