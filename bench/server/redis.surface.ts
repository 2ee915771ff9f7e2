/** What the bench uses of ioredis, which is not installed with the project. */
export interface RedisPackage {
  Redis: new (options: RedisOptions) => Redis;
}

interface RedisOptions {
  host: string;
  port: number;
  lazyConnect: true;
  retryStrategy: null;
}

export interface Redis {
  connect(): Promise<void>;
  disconnect(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  flushall(): Promise<unknown>;
  bgrewriteaof(): Promise<unknown>;
  info(section: string): Promise<string>;
}
