import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type DynamicModule, Injectable, Module, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  type DeadDelayContext,
  type Delay,
  DelayAdmin,
  DelayConfigError,
  DelayEvents,
  DelayHealth,
  DelayQueueModule,
  type DelayQueueModuleOptions,
  DelayService,
  DiscardDelay,
  getDelaysToken,
  InjectDelays,
  OnDeadDelay,
  OnDelay,
  OnDelayEvent,
  RepeatDelay,
  runMigrations,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import '../support/delay-payloads.js';

/** Several queues in one application: each has its own database, or its own schema in one. */

const QUEUES = ['default', 'eu', 'us'] as const;
type QueueName = (typeof QUEUES)[number];

let databases: TestDatabase[];
let sources: Record<QueueName, DataSource>;
let apps: { close(): Promise<void> }[];
let ran: string[];

beforeEach(async () => {
  [apps, ran] = [[], []];
  databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
  const [first, second] = databases.map(({ url }) => new DataSource({ type: 'postgres', url }));
  await runMigrations((databases[0] as TestDatabase).url, { schema: 'queue_us' });
  await Promise.all([first?.initialize(), second?.initialize()]);
  // The queues eu and us: another database, and another schema of the first one.
  sources = { default: first as DataSource, eu: second as DataSource, us: first as DataSource };
});

afterEach(async () => {
  for (const app of apps) await app.close();
  await Promise.all([sources.default.destroy(), sources.eu.destroy()]);
  await Promise.all(databases.map((each) => each.drop()));
});

@Module({})
class Sources {}

@Module({})
class Root {}

const options: Record<QueueName, DelayQueueModuleOptions> = {
  default: { dataSource: 'default source' },
  eu: { queue: 'eu', dataSource: 'eu source' },
  us: { queue: 'us', dataSource: 'us source', schema: 'queue_us' },
};

const moduleOf = (queue: QueueName): DynamicModule => DelayQueueModule.forRoot(options[queue]);

async function start(providers: Provider[], imports = QUEUES.map(moduleOf)) {
  const tokens = QUEUES.map((queue) => ({ provide: `${queue} source`, useValue: sources[queue] }));
  const root: DynamicModule = {
    module: Root,
    imports: [{ module: Sources, global: true, providers: tokens, exports: tokens }, ...imports],
    providers,
  };
  const app = await NestFactory.createApplicationContext(root, {
    logger: false,
    abortOnError: false,
  });
  apps.push(app);
  const delays = (queue: QueueName) => app.get(getDelaysToken(queue), { strict: false });
  const completed = (queue: QueueName, count = 1) =>
    new Promise<void>((resolve) => {
      let left = count;
      app
        .get(getDelaysToken(queue, DelayEvents), { strict: false })
        .on('completed', () => void ((left -= 1) === 0 && resolve()));
    });
  return { app, delays, completed };
}

const refusal = async (providers: Provider[], imports?: DynamicModule[]): Promise<string> => {
  const error: unknown = await start(providers, imports).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DelayConfigError);
  return (error as Error).message;
};

/** A provider whose method `run` has that decorator and notes what it was called for. */
function provider(decorate: MethodDecorator): Provider {
  @Injectable()
  class Handlers {
    async run(delay: Delay): Promise<void> {
      ran.push(`${delay.name} ${delay.key}`);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run');
  decorate(Handlers.prototype, 'run', descriptor as TypedPropertyDescriptor<unknown>);
  return Handlers;
}

const on = (name: string, given = {}): MethodDecorator => OnDelay(name as 'test.default', given);

it('each queue runs its own delays, of the same name and key', async () => {
  class Timers {
    constructor(
      readonly here: DelayService,
      @InjectDelays('eu') readonly eu: DelayService,
      @InjectDelays('us', DelayAdmin) readonly usAdmin: DelayAdmin,
    ) {}

    @OnDelay('test.default')
    async here1({ name }: Delay): Promise<void> {
      ran.push(`here ${name}`);
    }

    @OnDelay('test.default', { queue: ['eu', 'us'] })
    async elsewhere({ name }: Delay): Promise<void> {
      ran.push(`elsewhere ${name}`);
    }
  }
  Reflect.defineMetadata('design:paramtypes', [DelayService, DelayService, DelayAdmin], Timers);
  const { app, delays, completed } = await start([Timers]);
  const timers = app.get(Timers);
  expect(timers.eu).toBe(delays('eu'));
  expect(timers.here).not.toBe(timers.eu);
  const all = QUEUES.map((queue) => completed(queue));
  for (const each of [timers.here, timers.eu, delays('us')]) {
    const { verdict } = await each.schedule('test.default', null, { after: 0, key: 'one' });
    expect(verdict).toBe('scheduled');
  }
  await Promise.all(all);
  expect(ran.toSorted()).toEqual([
    'elsewhere test.default',
    'elsewhere test.default',
    'here test.default',
  ]);
  expect(await timers.usAdmin.list({})).toEqual([]);
});

it('what waits in one queue is unknown to the others', async () => {
  const { app, delays } = await start([provider(on('test.default'))]);
  await delays('eu').schedule('test.default', 1, { after: '1h', key: 'one' });
  expect(await delays('default').find('test.default', 'one')).toBeNull();
  expect(await delays('us').cancel('test.default', 'one')).toMatchObject({ verdict: 'absent' });
  expect(await delays('eu').cancel('test.default', 'one')).toMatchObject({ verdict: 'cancelled' });
  const health = app.get(getDelaysToken('eu', DelayHealth), { strict: false });
  expect(await health.check()).toMatchObject({ status: 'up' });
});

it('a transactional handler of a queue runs in the database of that queue', async () => {
  for (const queue of ['default', 'eu'] as const)
    await sources[queue].query('CREATE TABLE closed (id text)');
  class Timers {
    @OnDelay('test.fenced', { transactional: true, queue: ['default', 'eu'] })
    async close({ key }: Delay, { manager }: TransactionalDelayContext): Promise<void> {
      await manager.query('INSERT INTO closed VALUES ($1)', [key]);
    }
  }
  const { delays, completed } = await start([Timers]);
  const both = [completed('default'), completed('eu')];
  await delays('default').schedule('test.fenced', null, { after: 0, key: 'here' });
  await delays('eu').schedule('test.fenced', null, { after: 0, key: 'there' });
  await Promise.all(both);
  expect(await sources.default.query('SELECT id FROM closed')).toEqual([{ id: 'here' }]);
  expect(await sources.eu.query('SELECT id FROM closed')).toEqual([{ id: 'there' }]);
});

it('the manager chooses the queue of its database', async () => {
  const { delays } = await start([]);
  await sources.eu.transaction((manager) =>
    delays('default').schedule('test.default', 1, { after: '1h', key: 'one', manager }),
  );
  const undone = sources.eu.transaction(async (manager) => {
    expect(await delays('us').cancel('test.default', 'one', { manager })).toMatchObject({
      verdict: 'cancelled',
    });
    throw new Error('no');
  });
  await expect(undone).rejects.toThrow('no');
  expect(await delays('eu').find('test.default', 'one')).toMatchObject({ key: 'one' });
  expect(await delays('default').find('test.default', 'one')).toBeNull();
  // Two queues live in the first database: the caller has to say which one.
  await expect(
    sources.default.transaction((manager) =>
      delays('eu').schedule('test.default', 1, { after: '1h', manager }),
    ),
  ).rejects.toThrow('belongs to another DataSource');
});

it('a handler that writes to another queue writes no row of its own', async () => {
  const verdicts: string[] = [];
  class Timers {
    constructor(
      readonly here: DelayService,
      @InjectDelays('us') readonly us: DelayService,
    ) {}

    @OnDelay('test.default')
    async run({ key }: Delay): Promise<void> {
      const to = { after: '1h', key: key as string } as const;
      verdicts.push((await this.us.schedule('test.default', 2, to)).verdict);
      verdicts.push((await this.us.cancel('test.default', key as string)).verdict);
    }
  }
  Reflect.defineMetadata('design:paramtypes', [DelayService, DelayService], Timers);
  const { delays, completed } = await start([Timers]);
  const done = completed('default');
  await delays('default').schedule('test.default', 1, { after: 0, key: 'one' });
  await done;
  expect(verdicts).toEqual(['scheduled', 'cancelled']);
  expect(await delays('default').find('test.default', 'one')).toBeNull();
});

it('dead letters, events and recurring delays belong to the queue of their decorator', async () => {
  class Timers {
    @OnDelay('test.default', { queue: 'eu' })
    async run(): Promise<void> {
      throw new DiscardDelay('no use');
    }

    @OnDelay('test.other', { queue: 'eu', maxAttempts: 1 })
    async fail(): Promise<void> {
      throw new Error('always');
    }

    @OnDeadDelay('test.other', { queue: 'eu' })
    async gaveUp({ key }: Delay, { manager }: DeadDelayContext): Promise<void> {
      const [{ name }] = await manager.query('SELECT current_database() AS name');
      ran.push(
        `dead ${key} ${name === sources.eu.options.database || databases[1]?.url.includes(name)}`,
      );
    }

    @OnDelayEvent('dead', { queue: 'eu' })
    told({ key }: { key: string | null }): void {
      ran.push(`told ${key}`);
    }

    @OnDelayEvent('dead')
    other(): void {
      ran.push('told of another queue');
    }

    @RepeatDelay('test.daily', { every: '1d', payload: null })
    @OnDelay('test.daily', { queue: ['eu', 'us'] })
    async daily(): Promise<void> {}
  }
  const { app, delays } = await start([Timers]);
  const events = app.get(getDelaysToken('eu', DelayEvents), { strict: false });
  const dead = new Promise((resolve) => events.once('dead', resolve));
  await delays('eu').schedule('test.other', null, { after: 0, key: 'one' });
  await dead;
  expect(ran).toEqual(['dead one true', 'told one']);
  for (const [queue, count] of [
    ['default', 0],
    ['eu', 1],
    ['us', 1],
  ] as const) {
    const admin = app.get(getDelaysToken(queue, DelayAdmin), { strict: false });
    expect(await admin.list({ name: 'test.daily' })).toHaveLength(count);
  }
});

const REFUSED: [
  what: string,
  message: string,
  providers: () => Provider[],
  imports?: () => DynamicModule[],
][] = [
  [
    'a queue that there is not',
    "forRoot({ queue: 'asia' })",
    () => [provider(on('x', { queue: 'asia' }))],
  ],
  [
    'no queue, where all have names',
    "queue: say which one; this application has 'eu', 'us'",
    () => [provider(on('x'))],
    () => [moduleOf('eu'), moduleOf('us')],
  ],
  ['a queue of no name', 'queue: must be 1 to 48', () => [provider(on('x', { queue: '' }))]],
  ['no queue in the list', 'queue', () => [provider(on('x', { queue: [] }))]],
  [
    'two handlers of a name in one queue',
    'two handlers for the delay x',
    () => [provider(on('x', { queue: ['eu', 'us'] })), provider(on('x', { queue: 'us' }))],
  ],
  [
    'an option that @OnDeadDelay does not have',
    'retries',
    () => [
      provider(on('x')),
      provider(OnDeadDelay('x' as 'test.default', { retries: 3 } as object)),
    ],
  ],
  [
    '@OnDeadDelay in another queue than its @OnDelay',
    '@OnDeadDelay is for x',
    () => [provider(on('x')), provider(OnDeadDelay('x' as 'test.default', { queue: 'eu' }))],
  ],
  [
    'the same queue twice',
    "forRoot({ queue: 'eu' }) was imported twice",
    () => [],
    () => [moduleOf('eu'), moduleOf('eu')],
  ],
  [
    'two queues with the same tables',
    "the queues 'again' and 'default' have the same tables",
    () => [],
    () => [moduleOf('default'), DelayQueueModule.forRoot({ ...options.default, queue: 'again' })],
  ],
];

it('a queue whose database refuses all connections leaves the others alone', async () => {
  const { delays, completed } = await start([
    provider(on('test.default', { queue: ['default', 'eu'] })),
  ]);
  const name = new URL((databases[1] as TestDatabase).url).pathname.slice(1);
  await sources.default.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
  await sources.default.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
    [name],
  );
  const here = completed('default');
  await delays('default').schedule('test.default', 1, { after: 0, key: 'here' });
  await here;
  expect(ran).toEqual(['test.default here']);
  await sources.default.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`);
  const there = completed('eu');
  await delays('eu').schedule('test.default', 1, { after: 0, key: 'there' });
  await there;
  expect(ran).toEqual(['test.default here', 'test.default there']);
});

it('time travels in the queue that a test names', async () => {
  const timers = provider(on('test.default', { queue: ['default', 'eu'] }));
  const tokens = QUEUES.map((queue) => ({ provide: `${queue} source`, useValue: sources[queue] }));
  const imports = [
    { module: Sources, global: true, providers: tokens, exports: tokens },
    moduleOf('default'),
    moduleOf('eu'),
  ];
  const builder = Test.createTestingModule({ imports, providers: [timers] });
  const module = await DelayTesting.prepare(builder).compile();
  apps.push(await module.init());
  for (const queue of ['default', 'eu'])
    await module.get(getDelaysToken(queue), { strict: false }).schedule('test.default', queue, {
      after: '1h',
      key: queue,
    });
  const eu = DelayTesting.of(module, { queue: 'eu' });
  expect(await eu.advance('2h')).toMatchObject([{ key: 'eu', outcome: 'completed' }]);
  expect(await DelayTesting.of(module).advance('2h')).toMatchObject([{ key: 'default' }]);
  expect(() => DelayTesting.of(module, { queue: 'us' })).toThrow("forRoot({ queue: 'us' })");
});

it.each(REFUSED.map(([what, ...refused]) => [what, refused] as const))(
  'the start refuses %s',
  async (_, [message, providers, imports]) => {
    expect(await refusal(providers(), imports?.())).toContain(message);
  },
);

it.each(['', '..', 'a b', 'x'.repeat(49), 5, null])('forRoot refuses the queue %p', (queue) => {
  expect(() => DelayQueueModule.forRoot({ queue: queue as string })).toThrow(
    'DelayQueueModule: queue: must be 1 to 48 letters, digits and ._-',
  );
});
