import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Pool } from 'pg';
import { renewPool, watchPool } from '../../../src/delay-queue/core/database/application-pool.js';

/** A connection of the application's, as `pg` has them. */
class FakeClient extends EventEmitter {
  readonly connection = new EventEmitter();
  hasEnded = false;

  constructor(private readonly pool: FakePool) {
    super();
  }

  end = async (): Promise<void> => void (this.hasEnded = true);

  release(): void {
    this.pool.emit('release', undefined, this);
    if (this.hasEnded) this.pool.emit('remove', this);
    else this.pool.idle.push(this);
  }

  get isWatched(): boolean {
    return this.listenerCount('error') + this.connection.listenerCount('errorMessage') > 0;
  }
}

class FakePool extends EventEmitter {
  readonly idle: FakeClient[] = [];
  isDown = false;

  get idleCount(): number {
    return this.idle.length;
  }

  connect = async (): Promise<FakeClient> => {
    if (this.isDown) throw new Error('down');
    return this.take();
  };

  take(): FakeClient {
    const known = this.idle.pop();
    const client = known ?? new FakeClient(this);
    if (known === undefined) this.emit('connect', client);
    this.emit('acquire', client);
    return client;
  }
}

let nowMs: number;
let pool: FakePool;
let unwatch: () => void;

const watch = (): (() => void) => watchPool(pool as unknown as Pool);
const renew = (beforeMs: number): void => renewPool(pool as unknown as Pool, beforeMs);

beforeEach(() => {
  nowMs = 1_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  pool = new FakePool();
  unwatch = watch();
});

afterEach(() => void jest.restoreAllMocks());

it('an error of a connection that is handed out ends no process, and it is watched once', () => {
  const client = pool.take();
  client.release();
  expect(pool.take()).toBe(client);
  expect(client.listenerCount('error')).toBe(1);
  expect(client.emit('error', new Error('terminated'))).toBe(true);
});

it.each([
  ['takes no writes', '25006', true],
  ['refuses a statement', '23505', false],
])('a session that %s leaves the pool when it is given back: %3$p', (_, code, leaves) => {
  const client = pool.take();
  client.connection.emit('errorMessage', { code });
  expect(client.hasEnded).toBe(false);
  client.release();
  expect([client.hasEnded, pool.idle.length]).toEqual([leaves, leaves ? 0 : 1]);
});

it('those that were opened before one died leave it, the idle ones at once, and newer ones stay', async () => {
  const [idle, busy] = [pool.take(), pool.take()];
  idle.release();
  nowMs = 2_000;
  const young = pool.take();
  // The idle one was handed out again: that is the old one.
  expect(young).toBe(idle);
  young.release();
  const fresh = new FakeClient(pool);
  pool.emit('connect', fresh);
  pool.emit('acquire', fresh);
  renew(2_000);
  await turn();
  expect([idle.hasEnded, busy.hasEnded, pool.idle.length]).toEqual([true, false, 0]);
  busy.release();
  fresh.release();
  expect([busy.hasEnded, fresh.hasEnded]).toEqual([true, false]);
  const takes = jest.spyOn(pool, 'take');
  renew(1_500);
  renew(2_000);
  await turn();
  expect(takes).not.toHaveBeenCalled();
  pool.isDown = true;
  renew(3_000);
  await turn();
});

it('a pool that is not watched is not renewed', () => {
  const other = new FakePool();
  other.take().release();
  const takes = jest.spyOn(other, 'take');
  renewPool(other as unknown as Pool, 5_000);
  expect(takes).not.toHaveBeenCalled();
});

it('connections are as they were when the last of those who share the pool has gone, and are watched anew', () => {
  const client = pool.take();
  const gone = pool.take();
  void gone.end();
  gone.release();
  const second = watch();
  second();
  second();
  expect(client.isWatched).toBe(true);
  expect(pool.listenerCount('acquire')).toBe(1);
  unwatch();
  expect(client.isWatched).toBe(false);
  expect(pool.eventNames()).toEqual([]);
  const again = watch();
  client.release();
  expect(pool.take().isWatched).toBe(true);
  again();
});
