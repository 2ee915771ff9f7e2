import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { EngineConnections } from '../../../src/delay-queue/core/database/engine-connections.js';

type Config = Record<string, unknown>;

class FakeClient extends EventEmitter {
  connects = 0;
  ends = 0;
  readonly said: string[] = [];

  constructor(readonly config: Config) {
    super();
    clients.push(this);
  }

  connect = async (): Promise<void> => void (this.connects += 1);
  end = async (): Promise<void> => void (this.ends += 1);
  query = async (sql: string): Promise<unknown> => {
    this.said.push(sql);
    return { rows: [{ sql }] };
  };
  release = (destroys = false): void => void this.said.push(destroys ? 'destroyed' : 'released');
}

class FakePool extends EventEmitter {
  readonly idleCount = 0;
  ends = 0;

  constructor(readonly options: Config) {
    super();
    pools.push(this);
  }

  connect = async (): Promise<FakeClient> => {
    const client = new FakeClient(this.options);
    this.emit('connect', client);
    return client;
  };
  end = async (): Promise<void> => void (this.ends += 1);
}

let clients: FakeClient[];
/** The engine's, and that for callers. */
let pools: FakePool[];
let opened: unknown[];
let driver: { postgres: object; master: FakePool | undefined };
let connections: EngineConnections;

const masterOf = (options: Config): FakePool => {
  const master = new FakePool(options);
  pools = [];
  return master;
};

const make = (options: Config = {}): EngineConnections => {
  driver.master = masterOf(options);
  return new EngineConnections({ driver } as unknown as DataSource, 3, 'engine of web-1', {
    max: undefined,
    idleMs: 60_000,
  });
};

beforeEach(() => {
  [clients, pools, opened] = [[], [], []];
  driver = { postgres: { Pool: FakePool, Client: FakeClient }, master: undefined };
  connections = make({
    host: 'db',
    max: 25,
    application_name: 'shop',
    query_timeout: 2_000,
    onConnect: (client: unknown) => opened.push(client),
  });
});

/** Whether the application's pool is looked after. */
const isWatched = (pool: FakePool): boolean => pool.listenerCount('acquire') > 0;

it('has a few connections for the engine, as many for callers, and sessions for attempts, made from what the application’s are', () => {
  const common = { host: 'db', max: 3, min: 0, idleTimeoutMillis: 60_000 };
  expect(pools.map(({ options }) => options)).toEqual([
    expect.objectContaining({
      ...common,
      application_name: 'engine of web-1',
      query_timeout: 15_000,
    }),
    expect.objectContaining({ ...common, application_name: 'shop', query_timeout: 2_000 }),
    expect.objectContaining({
      ...common,
      max: 25,
      application_name: 'shop',
      query_timeout: 2_000,
      connectionTimeoutMillis: 5_000,
    }),
  ]);
  expect([connections.attempts.max, make().attempts.max]).toEqual([25, 10]);
});

it('an error of a connection ends no process, idle or between two statements', async () => {
  const [pool] = pools as [FakePool];
  expect(pool.emit('error', new Error('terminated'))).toBe(true);
  const client = await pool.connect();
  expect(client.emit('error', new Error('terminated'))).toBe(true);
});

it('callers have their connections once statements can be prepared, until all is closed', async () => {
  expect(connections.callers).toBeUndefined();
  connections.prepareStatements();
  expect(connections.callers).toBeDefined();
  await connections.close();
  expect(connections.callers).toBeUndefined();
  expect([...pools, driver.master!].map(({ ends }) => ends)).toEqual([1, 1, 1, 0]);
  expect(isWatched(driver.master!)).toBe(false);
});

describe('a connection beside the pool', () => {
  it('is connected as a pool would', async () => {
    const client = connections.dedicated() as unknown as FakeClient;
    expect(client.config).toMatchObject({ host: 'db', application_name: 'engine of web-1' });
    expect(client.connects).toBe(0);
    await connections.open(client as never);
    expect([client.connects, opened]).toEqual([1, [client]]);
    expect(connections.dedicated()).not.toBe(client);
  });

  it('that was opened early is the next one, and no other', async () => {
    void connections.openEarly();
    const [early] = clients as [FakeClient];
    expect(early.connects).toBe(1);
    expect(early.emit('error', new Error('terminated'))).toBe(true);
    const client = connections.dedicated();
    expect(client).toBe(early);
    const other = new FakeClient({});
    await connections.open(other as never);
    expect(connections.dedicated()).toBe(early);
    await connections.open(client);
    expect([early.connects, other.connects, opened.length]).toEqual([1, 1, 2]);
    expect(connections.dedicated()).not.toBe(early);
    await connections.close();
    expect(early.ends).toBe(0);
  });

  it('that was opened early and not taken is ended with the rest', async () => {
    void connections.openEarly();
    await connections.close();
    expect(clients[0]!.ends).toBe(1);
  });

  it('that could not be opened early fails its caller alone', async () => {
    class Refused extends FakeClient {
      override connect = async () => Promise.reject(new Error('no session is left'));
    }
    const refused = make({ Client: Refused });
    expect(await refused.openEarly()).toBeUndefined();
    await new Promise(setImmediate);
    await expect(refused.open(refused.dedicated())).rejects.toThrow('no session is left');
    await refused.close();
  });

  it('may be of a class of the application’s', () => {
    class OwnClient extends FakeClient {}
    expect(make({ Client: OwnClient }).dedicated()).toBeInstanceOf(OwnClient);
  });
});

describe('the pool of the application', () => {
  it('is looked after, and so is the next one, from the next statement on', async () => {
    const [first, next, last] = [driver.master!, masterOf({}), masterOf({})];
    expect(isWatched(first)).toBe(true);
    driver.master = next;
    await connections.query('SELECT 1', []);
    expect([first, next].map(isWatched)).toEqual([false, true]);
    driver.master = last;
    await connections.inTransaction(async () => {});
    expect([next, last].map(isWatched)).toEqual([false, true]);
    driver.master = undefined;
    await connections.query('SELECT 1', []);
    expect(isWatched(last)).toBe(false);
    connections.renew(1);
    await connections.close();
  });

  it('gives up with the engine’s what was opened before one of them died', async () => {
    const master = driver.master!;
    const client = await master.connect();
    master.emit('acquire', client);
    connections.renew(performance.now() + 1);
    master.emit('release', undefined, client);
    expect(client.ends).toBe(1);
  });
});

it('a removal is sent with what is behind it, on the session that it is given', async () => {
  const client = new FakeClient({});
  const session = connections.on(client as never);
  expect(await session.query('SELECT 1', [])).toEqual([{ sql: 'SELECT 1' }]);
  let sending = 0;
  await session.queryBefore('COMMIT', 'SELECT 3', [], () => (sending = client.said.length));
  expect(client.said).toEqual(['SELECT 1', 'SELECT 3', 'COMMIT']);
  expect(sending).toBe(2);
});
