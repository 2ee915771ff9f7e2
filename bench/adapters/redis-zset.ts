import { missingServer } from '../server/programs.js';
import type { Redis } from '../server/redis.surface.js';
import type { Batch, BenchProducer, BenchWorker, Hears } from './adapter.js';
import { missingPackages, named, type PeerAdapter } from './peer.js';
import { pollingWorker } from './poller.js';
import { REDIS_EVERYSEC as REDIS } from './redis-stores.js';

const PACKAGE = 'ioredis';
const TICK_MS = 1_000;
const PAGE = 100;
const FILL_PAGE = 1_000;

/** Keys by when they are due, in milliseconds since 1970, and payloads by key. */
const DUE = 'bench:due';
const PAYLOADS = 'bench:payloads';

/** In a script, so that two workers never take the same page. */
const TAKE_PAGE = `
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
if #due == 0 then return {{}, {}} end
local keys = {}
for i = 1, #due, 2 do keys[#keys + 1] = due[i] end
local payloads = redis.call('HMGET', KEYS[2], unpack(keys))
redis.call('ZREM', KEYS[1], unpack(keys))
redis.call('HDEL', KEYS[2], unpack(keys))
return {due, payloads}`;

/** What teams write themselves in an afternoon, on Redis. */
export const REDIS_ZSET: PeerAdapter = {
  name: 'Redis zset',
  get settings() {
    return (
      `Redis zset: ${named(PACKAGE)}, every ${TICK_MS} ms a script takes ${PAGE} (payloads in a hash), ` +
      `at once again while pages are full; ${REDIS.settings}; a crash loses the page in hand`
    );
  },
  missing: () => [...missingPackages(PACKAGE), ...missingServer('redis-server')],
  elsewhere: REDIS,
  prepare: () => REDIS.empty(),
  fill: (_url, batch) => fill(batch),
  openWorker: (_url, _running, hears) => openWorker(hears),
  openProducer,
  left,
};

const keyOf = (n: number): string => `k${n}`;

const addition = (n: number, dueMs: number): string[][] => [
  ['zadd', DUE, String(dueMs), keyOf(n)],
  ['hset', PAYLOADS, keyOf(n), JSON.stringify({ n })],
];

/** In one transaction of Redis. @throws the first error in it */
async function carryOut(redis: Redis, commands: string[][]): Promise<unknown[]> {
  const answers = (await redis.multi(commands).exec()) ?? [];
  const [failed] = answers.flatMap(([error]) => error ?? []);
  if (failed) throw failed;
  return answers.map(([, answer]) => answer);
}

async function fill({ first, count, dueFromMs, dueToMs }: Batch): Promise<void> {
  const redis = await REDIS.connect();
  const nowMs = Date.now();
  for (let done = 0; done < count; done += FILL_PAGE) {
    const commands = Array.from({ length: Math.min(FILL_PAGE, count - done) }, (_, index) => {
      const dueInMs = dueFromMs + ((dueToMs - dueFromMs) * (done + index)) / count;
      return addition(first + done + index, Math.round(nowMs + dueInMs));
    });
    await carryOut(redis, commands.flat());
  }
  redis.disconnect();
  await REDIS.calm();
}

async function openWorker(hears: Hears): Promise<BenchWorker> {
  const redis = await REDIS.connect();
  const takePage = async (): Promise<boolean> => {
    const answer = await redis.eval(TAKE_PAGE, 2, DUE, PAYLOADS, Date.now(), PAGE);
    const [due, payloads] = answer as [string[], string[]];
    for (const [index, payload] of payloads.entries()) {
      const { n } = JSON.parse(payload) as { n: number };
      hears.handled(n, Number(due[index * 2 + 1]));
      // Gone before the handler ran: done with in the weaker sense that it never runs again.
      hears.settled();
    }
    return payloads.length === PAGE;
  };
  return pollingWorker({ tickMs: TICK_MS, takePage, close: () => redis.disconnect() });
}

async function openProducer(): Promise<BenchProducer> {
  const redis = await REDIS.connect();
  return {
    schedule: async (n, dueInMs) => {
      await carryOut(redis, addition(n, Date.now() + dueInMs));
    },
    async scheduleMany(first, count, dueInMs) {
      const dueMs = Date.now() + dueInMs;
      const commands = Array.from({ length: count }, (_, index) => addition(first + index, dueMs));
      await carryOut(redis, commands.flat());
    },
    async cancel(n) {
      const commands = [
        ['zrem', DUE, keyOf(n)],
        ['hdel', PAYLOADS, keyOf(n)],
      ];
      return (await carryOut(redis, commands))[0] === 1;
    },
    stop: async () => redis.disconnect(),
  };
}

async function left(): Promise<number> {
  const redis = await REDIS.connect();
  try {
    return await redis.zcard(DUE);
  } finally {
    redis.disconnect();
  }
}
