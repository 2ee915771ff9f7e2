import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, HOST } from '../../src/embedded-postgres/free-port.js';
import { load } from '../peers/load.js';
import { stopLater } from '../run/shutdown.js';
import type { Redis, RedisPackage } from './redis.surface.js';
import type { CpuTime } from './process-cpu.js';
import { ServerProcess, temporaryFolder } from './server-process.js';

/** Searched before `PATH`: that of a user may lack `sbin`. */
const FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/sbin'];

/** The program of the server; undefined: it is not installed. */
export const redisPath = (): string | undefined =>
  [...FOLDERS, ...(process.env.PATH ?? '').split(delimiter)]
    .map((folder) => join(folder, 'redis-server'))
    .find((path) => existsSync(path));

/** When what was appended to its file is on the disk: before the answer, or within a second. */
export type Fsync = 'always' | 'everysec';

const LOOK_EVERY_MS = 20;

/**
 * A Redis of the run for each way to write; started by the bench when the first measurement needs
 * it. Its workers and producers find the port in their environment.
 */
export class RedisServer {
  #running: Promise<Running> | undefined;

  constructor(private readonly fsync: Fsync) {}

  /** How it is set up, for settings that are printed. */
  get settings(): string {
    return `appendonly yes, appendfsync ${this.fsync}, no snapshots`;
  }

  /** Of a process that the bench started. */
  get address(): { host: string; port: number } {
    return { host: HOST, port: Number(process.env[this.#variable]) };
  }

  /** A client of ours, not of a system under test. */
  async connect(): Promise<Redis> {
    const { Redis } = await load<RedisPackage>('ioredis');
    const redis = new Redis({ ...this.address, lazyConnect: true, retryStrategy: null });
    redis.on('error', () => {});
    await redis.connect();
    return redis;
  }

  /** Starts it if need be, and empties it. */
  async empty(): Promise<void> {
    const { redis } = await (this.#running ??= this.#start());
    await redis.flushall();
  }

  /** Resolves when its file is compact again, so that no measurement pays for what went before. */
  async calm(): Promise<void> {
    const { redis } = await this.#started();
    // One that it began by itself is in the way of another.
    await rewritten(redis);
    await redis.bgrewriteaof();
    await rewritten(redis);
  }

  async cpuTime(): Promise<CpuTime> {
    return (await this.#started()).server.cpuTime();
  }

  /** Those inside its scripts are among them. */
  async commands(): Promise<number> {
    const { redis } = await this.#started();
    const [, count] = /total_commands_processed:(\d+)/.exec(await redis.info('stats')) ?? [];
    return Number(count);
  }

  get #variable(): string {
    return `BENCH_REDIS_${this.fsync.toUpperCase()}_PORT`;
  }

  async #started(): Promise<Running> {
    if (this.#running === undefined) throw new Error('nothing has been prepared on this Redis');
    return this.#running;
  }

  async #start(): Promise<Running> {
    const folder = await temporaryFolder('redis');
    const port = await freePort(0);
    const options = {
      bind: HOST,
      port: String(port),
      dir: folder,
      appendonly: 'yes',
      appendfsync: this.fsync,
      save: '',
    };
    const server = await ServerProcess.start(
      [
        redisPath() ?? 'redis-server',
        ...Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]),
      ],
      folder,
    );
    process.env[this.#variable] = String(port);
    const redis = await server.untilReady(() => this.connect());
    stopLater(async () => redis.disconnect());
    return { server, redis };
  }
}

interface Running {
  server: ServerProcess;
  redis: Redis;
}

const NO_REWRITE = /aof_rewrite_in_progress:0\s+aof_rewrite_scheduled:0/;

async function rewritten(redis: Redis): Promise<void> {
  while (!NO_REWRITE.test(await redis.info('persistence'))) await pause(LOOK_EVERY_MS);
}
