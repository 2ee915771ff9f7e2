import { RedisServer } from '../server/redis-server.js';

/** What Redis advises, and the most that it can do: its own words are "slow, very safe". */
export const REDIS_EVERYSEC = new RedisServer('everysec');
export const REDIS_ALWAYS = new RedisServer('always');
