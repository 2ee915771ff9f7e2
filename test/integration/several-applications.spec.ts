import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule, delayQueueMigrations, DelayService } from 'nestjs-delay-queue';
import type { Pool, PoolClient } from 'pg';
import { DataSource } from 'typeorm';
import { randomOf } from '../../src/random.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import '../support/delay-payloads.js';
import { Engine } from '../support/engine-parts.js';

/** Several applications on one DataSource, and patches of others: whatever comes and goes, in any order, the rest works. */
const LATER = { after: '5s' } as const;
const POOL = 3;
const SCHEMAS = ['delay_queue', 'second_queue'] as const;

let database: TestDatabase;
let dataSource: DataSource;

beforeAll(async () => {
  database = await createTestDatabase();
  const migrations = delayQueueMigrations({ schema: SCHEMAS[1] });
  const options = { type: 'postgres', url: database.url, migrations } as const;
  const once = await new DataSource(options).initialize();
  await once.runMigrations();
  await once.destroy();
});

afterEach(() => dataSource.destroy());

afterAll(() => database.drop());

interface Application {
  app: INestApplicationContext;
  delays: DelayService;
  /** How often its engine heard of a write that was committed. */
  heard: () => number;
}

@Module({})
class Root {}

@Module({})
class Database {}

async function start(schema: (typeof SCHEMAS)[number]): Promise<Application> {
  const provided = { provide: DataSource, useValue: dataSource };
  const app = await NestFactory.createApplicationContext(
    {
      module: Root,
      imports: [
        { module: Database, global: true, providers: [provided], exports: [provided] },
        DelayQueueModule.forRoot({ schema, worker: false }),
      ],
    },
    { logger: false, abortOnError: false },
  );
  const engine = app.get(Engine);
  const announce = engine.announce.bind(engine);
  let heard = 0;
  engine.announce = (...all) => {
    heard += 1;
    announce(...all);
  };
  return { app, delays: app.get(DelayService), heard: () => heard };
}

const poolOf = (): Pool => (dataSource.driver as unknown as { master: Pool }).master;

async function clients(): Promise<PoolClient[]> {
  const taken = await Promise.all(Array.from({ length: POOL }, () => poolOf().connect()));
  for (const client of taken) client.release();
  return taken;
}

const counts = (emitter: NodeJS.EventEmitter): Record<string, number> =>
  Object.fromEntries(
    emitter
      .eventNames()
      .map((event) => [String(event), emitter.listenerCount(event)] as const)
      .toSorted(([a], [b]) => a.localeCompare(b)),
  );

/** What others can see of the DataSource, its pool and its connections. */
async function seen(): Promise<unknown> {
  const descriptor = Object.getOwnPropertyDescriptor(dataSource, 'subscribers')!;
  const ofClient = (client: PoolClient): unknown => ({
    methods: Object.entries(client).flatMap(([name, its]) =>
      typeof its === 'function' ? name : [],
    ),
    client: counts(client),
    connection: counts((client as unknown as { connection: NodeJS.EventEmitter }).connection),
  });
  return {
    subscribers: { ...descriptor, value: [...dataSource.subscribers] },
    own: Object.keys(dataSource).toSorted(),
    pool: counts(poolOf()),
    clients: (await clients()).map(ofClient),
  };
}

/** As agents wrap them: what is there when they come, whoever has put it there. */
const PATCHES: (() => () => void)[] = [
  () => {
    const pool = poolOf() as unknown as Record<'connect', (...all: unknown[]) => unknown>;
    const original = pool.connect;
    pool.connect = (...all) => original.apply(pool, all);
    return () => void Reflect.deleteProperty(pool, 'connect');
  },
  () => {
    const source = dataSource as unknown as Record<
      'createQueryRunner',
      (...all: unknown[]) => unknown
    >;
    const original = source.createQueryRunner;
    source.createQueryRunner = (...all) => original.apply(source, all);
    return () => void Reflect.deleteProperty(source, 'createQueryRunner');
  },
  () => {
    const subscriber = { afterQuery: () => {} };
    dataSource.subscribers.push(subscriber);
    return () => {
      const index = dataSource.subscribers.indexOf(subscriber);
      if (index !== -1) dataSource.subscribers.splice(index, 1);
    };
  },
];

let keys = 0;

/** Its hooks run after the commit, and only then; a COMMIT that was none is told as such. */
async function works({ delays, heard }: Application): Promise<void> {
  const before = heard();
  const key = `k${(keys += 1)}`;
  await dataSource.transaction(async (manager) => {
    await delays.schedule('test.later', null, { ...LATER, key, manager });
    expect(heard()).toBe(before);
  });
  expect(heard()).toBe(before + 1);
  const swallows = dataSource.transaction(async (manager) => {
    await delays.cancel('test.later', key, { manager });
    await manager.query('SELECT 1 / 0').catch(() => {});
  });
  await expect(swallows).rejects.toMatchObject({ code: 'DELAY_ROLLED_BACK' });
  expect(await delays.find('test.later', key)).toMatchObject({ state: 'scheduled' });
}

const open = async (): Promise<void> => {
  dataSource = await new DataSource({
    type: 'postgres',
    url: database.url,
    extra: { max: POOL },
  }).initialize();
};

it.each(['1', '2', '3'])(
  'applications and patches come and go in any order, by seed %s',
  async (seed) => {
    const random = randomOf(`several applications ${seed}`);
    await open();
    const atFirst = await seen();
    const running: Application[] = [];
    const undo: (() => void)[] = [];
    const steps = {
      start: async () => void running.push(await start(random.pick(SCHEMAS))),
      stop: async () => {
        const [one] = running.splice(random.integer(0, running.length - 1), 1);
        await one?.app.close();
      },
      patch: async () => void undo.push(random.pick(PATCHES)()),
      unpatch: async () => {
        const [restore] = undo.splice(random.integer(0, undo.length - 1), 1);
        restore?.();
      },
      again: async () => {
        for (const restore of undo.splice(0)) restore();
        await dataSource.destroy();
        await dataSource.initialize();
      },
    };
    await steps.start();
    for (let step = 0; step < 12; step += 1) {
      const kind = random.pick([
        'start',
        'start',
        'stop',
        'stop',
        'patch',
        'unpatch',
        'again',
      ] as const);
      if (kind === 'start' && running.length === 3) continue;
      await steps[kind]();
      for (const application of running) await works(application);
    }
    for (const restore of undo.splice(0)) restore();
    while (running.length > 0) await steps.stop();
    expect(await seen()).toEqual(atFirst);
  },
);

it('the last one closes in the middle of a transaction: its COMMIT is told of, and then nothing is left', async () => {
  await open();
  const atFirst = await seen();
  const { app, delays } = await start('delay_queue');
  const committed = dataSource.transaction(async (manager) => {
    await delays.schedule('test.later', null, { ...LATER, manager });
    await app.close();
    await manager.query('SELECT 1 / 0').catch(() => {});
  });
  await expect(committed).rejects.toMatchObject({ code: 'DELAY_ROLLED_BACK' });
  await new Promise((resolve) => setImmediate(resolve));
  expect(await seen()).toEqual(atFirst);
});
