import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Injectable, type LoggerService, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DelayConfigError,
  DelayQueueModule,
  type DelayQueueOptions,
  type DelayQueueOptionsFactory,
  DelayService,
  DelayShutdownError,
  DiscardDelay,
  OnDelay,
} from 'nestjs-delay-queue';
import { createEmptyDatabase } from '../../support/database.js';
import { appModule, fencedHandler, plainHandler, signal } from '../../support/delay-node.js';
import { refusedApp, refusedStart } from './support/refused-start.js';
import { Stage } from './support/stage.js';

@Module({})
class RootModule {}

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

// By force: when a start is refused while TypeORM is still connecting, Nest closes nothing.
afterEach(() => stage.close({ force: true }));

const fail = (): never => {
  throw new Error('no luck');
};

const noop = plainHandler('test.noop', () => {});

function withQueue(queue: DynamicModule, more: Partial<DynamicModule> = {}): DynamicModule {
  return {
    module: RootModule,
    ...more,
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: stage.url, retryAttempts: 0 }),
      queue,
      ...(more.imports ?? []),
    ],
    providers: [noop],
  };
}

const nodes = () => stage.sql('SELECT id, names FROM delay_queue.node');

describe('forRootAsync', () => {
  const options: DelayQueueOptions = { nodeName: 'from the factory' };

  @Injectable()
  class Factory implements DelayQueueOptionsFactory {
    createDelayQueueOptions(): Promise<DelayQueueOptions> {
      return Promise.resolve(options);
    }
  }

  @Module({ providers: [Factory], exports: [Factory] })
  class FactoryModule {}

  it.each([
    [
      'useFactory',
      { inject: [Factory], useFactory: (of: Factory) => of.createDelayQueueOptions() },
    ],
    ['useClass', { useClass: Factory }],
    ['useExisting', { useExisting: Factory }],
  ])('takes its options by %s', async (_, how) => {
    const queue = DelayQueueModule.forRootAsync({ imports: [FactoryModule], ...how });
    const app = await NestFactory.createApplicationContext(withQueue(queue), {
      logger: false,
      abortOnError: false,
    });
    expect(await nodes()).toEqual([{ id: 'from the factory', names: ['test.noop'] }]);
    await app.close();
    expect(await nodes()).toEqual([]);
  });
});

async function refusal(error: Promise<unknown>): Promise<string> {
  const refused = await error;
  expect(refused).toBeInstanceOf(DelayConfigError);
  return String(refused);
}

describe('a start is refused', () => {
  it('when forRoot is imported twice', async () => {
    const twice = withQueue(DelayQueueModule.forRoot(), { imports: [DelayQueueModule.forRoot()] });
    expect(await refusal(refusedApp(twice))).toContain('imported twice');
  });

  it('when two handlers share a name: the message names both', async () => {
    class First {
      @OnDelay('test.same')
      one(): void {}
    }
    class Second {
      @OnDelay('test.same')
      two(): void {}
    }
    const text = await refusal(refusedStart({ url: stage.url, providers: [First, Second] }));
    expect(text).toMatch(/test\.same: .*First\.one.*Second\.two/);
  });

  it('when an option is not acceptable: the message names it', async () => {
    const options = { lease: '1ms' } as const;
    expect(await refusal(refusedStart({ url: stage.url, options }))).toMatch(
      /lease.*from 1s to 1h/,
    );
  });

  it('when the tables are missing: the message says what to run', async () => {
    const empty = await createEmptyDatabase();
    const text = await refusal(refusedStart({ url: empty.url, providers: [noop] }));
    expect(text).toMatch(/delay, .*permit not found.*delayQueueMigrations/);
    await empty.drop();
  });

  it('when transactions are not READ COMMITTED by default', async () => {
    const url = new URL(stage.url);
    url.searchParams.set('options', '-c default_transaction_isolation=serializable');
    const text = await refusal(refusedStart({ url: url.href, providers: [noop] }));
    expect(text).toMatch(/default_transaction_isolation is 'serializable'/);
  });
});

describe('a start is refused on a database that', () => {
  it('takes no writes: the message says why, and what to do', async () => {
    await stage.set({ default_transaction_read_only: 'on' });
    const text = await refusal(refusedStart({ url: stage.url, providers: [noop] }));
    expect(text).toMatch(/read-only here \(default_transaction_read_only.*ALTER ROLE/);
  });

  it('hides rows from the role: the message names the tables', async () => {
    const role = `guarded_${process.pid}`;
    await stage.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'guarded'`);
    await stage.sql(`GRANT USAGE ON SCHEMA delay_queue TO ${role}`);
    await stage.sql(`GRANT ALL ON ALL TABLES IN SCHEMA delay_queue TO ${role}`);
    const url = new URL(stage.url);
    url.username = role;
    url.password = 'guarded';
    try {
      await (await stage.start({ url: url.href, providers: [noop] })).stop();
      await stage.sql('ALTER TABLE delay_queue.delay ENABLE ROW LEVEL SECURITY');
      const text = await refusal(refusedStart({ url: url.href, providers: [noop] }));
      expect(text).toMatch(/row-level security.*"delay_queue"\.delay:.*BYPASSRLS/);
    } finally {
      await stage.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });
});

describe('a node with worker: false', () => {
  it('schedules, and runs nothing', async () => {
    const ran: string[] = [];
    const handler = plainHandler('test.noop', ({ key }) => void ran.push(key ?? ''));
    const producer = await stage.start({ options: { worker: false }, providers: [handler] });
    await producer.delays.schedule('test.noop', null, { after: 0, key: 'k' });
    expect(await nodes()).toEqual([]);
    const worker = await stage.start({ providers: [noop] });
    await stage.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
    expect(ran).toEqual([]);
    expect(await worker.delays.history('test.noop', 'k')).toMatchObject([{ state: 'completed' }]);
  });
});

describe('a request-scoped provider', () => {
  it('handles each delay with an instance of its own', async () => {
    const instances = new Set<object>();
    const runs: object[] = [];

    @Injectable({ scope: Scope.REQUEST })
    class PerDelay {
      constructor(private readonly delays: DelayService) {
        instances.add(this);
      }

      @OnDelay('test.scoped')
      handle(): void {
        expect(this.delays).toBeInstanceOf(DelayService);
        runs.push(this);
      }
    }
    const node = await stage.start({ providers: [PerDelay] });
    for (const key of ['a', 'b']) {
      const completed = node.next('completed', (event) => event.key === key);
      await node.delays.schedule('test.scoped', null, { after: 0, key });
      await completed;
    }
    expect(new Set(runs).size).toBe(2);
    expect(runs.every((run) => instances.has(run))).toBe(true);
  });
});

describe('the WheelService of the application', () => {
  it('runs volatile timers, and none once the application is closing', async () => {
    const node = await stage.start({});
    const fired = signal();
    node.wheel.after(5, () => fired.resolve());
    await fired.promise;
    let late = false;
    node.wheel.after('1h', () => void (late = true));
    await node.stop();
    expect(() => node.wheel.after(1, () => {})).toThrow(DelayShutdownError);
    expect(late).toBe(false);
  });
});

describe('after close', () => {
  it('no connection is left, nor is the node known to others', async () => {
    const held = plainHandler('test.held', (_, ctx) => {
      return new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
      });
    });
    const node = await stage.start({ providers: [held, noop] });
    const started = node.next('started');
    await node.delays.schedule('test.held', null, { after: 0, key: 'held' });
    await node.delays.schedule('test.noop', null, { after: '10s', key: 'waiting' });
    await started;
    await node.stop();
    await stage.until(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
         AND application_name LIKE 'delay-queue%'`,
      (rows) => rows.length === 0,
    );
    expect(await nodes()).toEqual([]);
    expect(await stage.sql('SELECT attempts, leased_by FROM delay_queue.delay')).toEqual([
      { attempts: 0, leased_by: null },
      { attempts: 0, leased_by: null },
    ]);
  });
});

describe('the log', () => {
  it('tells what happens to a delay, and never what it carries', async () => {
    const lines: string[] = [];
    const note = (...said: unknown[]): void => void lines.push(said.map(String).join(' '));
    const logger: LoggerService = { log: note, warn: note, error: note, fatal: note };
    const secret = 'card 4111 1111';
    const setup = {
      url: stage.url,
      options: { backoff: { base: 5 } },
      providers: [
        plainHandler('test.fail', fail, { maxAttempts: 2 }),
        fencedHandler('test.fenced', fail, { maxAttempts: 2 }),
        plainHandler('test.slow', () => new Promise(() => {}), { timeout: 20, maxAttempts: 1 }),
        plainHandler('test.discard', () => {
          throw new DiscardDelay('not wanted');
        }),
      ],
    };
    const names = ['test.fail', 'test.fenced', 'test.slow', 'test.discard'] as const;
    const app = await NestFactory.createApplicationContext(appModule(setup), { logger });
    for (const name of names) {
      await app.get(DelayService).schedule(name, { secret }, { after: 0, key: 'k' });
    }
    await stage.until<{ wake: string }>(
      'SELECT wake_at::text AS wake FROM delay_queue.delay',
      (rows) => rows.every(({ wake }) => wake === 'infinity'),
    );
    await app.close();
    const said = lines.join('\n');
    for (const name of names) expect(said).toContain(`${name} #`);
    expect(said).toMatch(/serves .*test\.fail/);
    expect(said).toMatch(/stopped/);
    expect(said).not.toContain('4111');
  });
});
