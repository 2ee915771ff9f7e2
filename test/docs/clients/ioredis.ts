/** What `docs/recipes` uses of ioredis, which is not installed with the project. */
export interface Redis {
  zrange(key: string, min: number, max: number, withscores: 'WITHSCORES'): Promise<string[]>;
  zrem(key: string, ...members: string[]): Promise<number>;
}
