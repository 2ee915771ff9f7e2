import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DynamicModule,
  type INestApplicationContext,
  Injectable,
  type Provider,
  Scope,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { DelayEvents, type DelayQueueOptions, DelayService } from 'nestjs-delay-queue';
import { AttemptStore } from '../../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../../src/delay-queue/store/node.store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { appModule, plainHandler, signal } from '../support/delay-node.js';
import { Parts } from '../support/parts.js';
import { until } from '../support/until.js';

/** The engine's recurring tasks where applications look for what comes again, and nothing but that. */
const TASKS = ['delay-queue:load', 'delay-queue:scan', 'delay-queue:renew', 'delay-queue:prune'];
const QUICK: DelayQueueOptions = { loadEvery: '100ms', lease: '1s' };

let database: TestDatabase;
let advice: string[];
let parts: Parts;
const open: INestApplicationContext[] = [];

beforeEach(async () => {
  advice = [];
  parts = new Parts();
  database = await createTestDatabase();
});

afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
  await database.drop();
});

@Injectable()
class Watch {
  constructor(events: DelayEvents) {
    events.on('advice', ({ message }) => advice.push(message));
  }
}

const noop = plainHandler('test.noop', () => {});

interface Application {
  options?: DelayQueueOptions;
  providers?: Provider[];
  /** Where ScheduleModule stands; without it the application has none. */
  schedule?: 'first' | 'last' | 'none';
}

async function start({
  options = {},
  providers = [noop],
  schedule = 'first',
}: Application): Promise<INestApplicationContext> {
  const module = appModule({ url: database.url, parts, options: { ...QUICK, ...options } });
  const imports = [...module.imports!];
  if (schedule === 'first') imports.unshift(ScheduleModule.forRoot());
  if (schedule === 'last') imports.push(ScheduleModule.forRoot());
  const whole: DynamicModule = { ...module, imports, providers: [Watch, ...providers] };
  const app = await NestFactory.createApplicationContext(whole, {
    logger: false,
    abortOnError: false,
  });
  open.push(app);
  return app;
}

const listed = (app: INestApplicationContext): string[] =>
  app.get(SchedulerRegistry).getIntervals();

const completion = (app: INestApplicationContext): Promise<unknown> =>
  new Promise((resolve) => app.get(DelayEvents).once('completed', resolve));

async function runsDelays(app: INestApplicationContext): Promise<void> {
  const completed = completion(app);
  await app.get(DelayService).schedule('test.noop', null, { after: 0 });
  expect(await completed).toMatchObject({ name: 'test.noop' });
}

/** It is called once more from now on. */
async function comesAgain(spied: { calls: unknown[] }): Promise<void> {
  const before = spied.calls.length;
  await until(
    () => spied.calls.length,
    (calls) => calls > before,
  );
}

it.each(['first', 'last'] as const)(
  'with ScheduleModule %s, tasks are listed while they run; what is in flight at the end keeps its lease',
  async (schedule) => {
    const [begun, goOn] = [signal(), signal()];
    const held = plainHandler('test.held', () => {
      begun.resolve();
      return goOn.promise;
    });
    const app = await start({ schedule, options: { lease: '8s' }, providers: [held] });
    const registry = app.get(SchedulerRegistry);
    expect(listed(app)).toEqual(TASKS);
    expect([registry.getTimeouts(), registry.getCronJobs().size]).toEqual([[], 0]);
    await app.get(DelayService).schedule('test.held', null, { after: 0, key: 'k' });
    await begun.promise;
    const closed = open.pop()!.close();
    await until(
      () => listed(app).length,
      (left) => left === 0,
    );
    // Whoever was about to clear intervals has done so.
    const renew = parts.intercept(AttemptStore, 'renew');
    await comesAgain(renew);
    const completed = completion(app);
    goOn.resolve();
    expect(await completed).toMatchObject({ name: 'test.held', attempt: 1 });
    await closed;
    expect(advice).toEqual([]);
  },
);

it('an entry that is deleted, or cleared, is no longer listed, and its task goes on', async () => {
  const app = await start({});
  const registry = app.get(SchedulerRegistry);
  for (const name of TASKS) {
    clearInterval(registry.getInterval(name));
    registry.deleteInterval(name);
  }
  expect(listed(app)).toEqual([]);
  await comesAgain(parts.intercept(NodeStore, 'load'));
  await comesAgain(parts.intercept(NodeStore, 'sweep'));
  await runsDelays(app);
});

it.each([
  ['runs nothing by itself', { worker: 'manual' }, ['delay-queue:load', 'delay-queue:renew']],
  ['runs no handlers', { worker: false }, []],
] as const)('a node that %s lists what it does', async (_, options, names) => {
  const app = await start({ options });
  expect(listed(app)).toEqual(names);
});

it('two applications of one process list their own', async () => {
  const [one, other] = [await start({}), await start({ schedule: 'last' })];
  await open.shift()!.close();
  expect([listed(one), listed(other)]).toEqual([[], TASKS]);
});

/** A Timeout of the application, which is over. */
function clearedInterval(): NodeJS.Timeout {
  const interval = setInterval(() => {}, 1_000);
  clearInterval(interval);
  return interval;
}

it("a name that is taken stays the application's, which is told so", async () => {
  const own = clearedInterval();
  const taking = {
    provide: 'taking',
    inject: [SchedulerRegistry],
    useFactory: (registry: SchedulerRegistry) => ({
      onModuleInit: () => registry.addInterval('delay-queue:scan', own),
    }),
  };
  const app = await start({ providers: [noop, taking] });
  expect(listed(app).toSorted()).toEqual(TASKS.toSorted());
  expect(app.get(SchedulerRegistry).getInterval('delay-queue:scan')).toBe(own);
  expect(advice).toEqual([
    expect.stringMatching(/does not list delay-queue:scan, .*anyway: .*already exists/),
  ]);
});

/** As another install of the package has it: no orchestrator clears what stands in it. */
const second = (): typeof SchedulerRegistry =>
  Object.defineProperty(class extends SchedulerRegistry {}, 'name', {
    value: 'SchedulerRegistry',
  });

const broken = (): never => {
  throw new Error('out of order');
};

describe('classes of that name', () => {
  it('two that fit list the tasks, until the end; what the application puts in their place stays', async () => {
    const [Second, own] = [second(), clearedInterval()];
    const alias = { provide: second(), useExisting: Second };
    const app = await start({ providers: [noop, Second, alias] });
    const other = app.get(Second);
    expect([listed(app), other.getIntervals()]).toEqual([TASKS, TASKS]);
    other.deleteInterval('delay-queue:load');
    other.addInterval('delay-queue:load', own);
    other.deleteInterval('delay-queue:prune');
    await open.pop()!.close();
    expect(other.getIntervals()).toEqual(['delay-queue:load']);
    expect(other.getInterval('delay-queue:load')).toBe(own);
    expect(advice).toEqual([]);
  });

  it('others are left alone, and those that throw are told', async () => {
    const throwing = { addInterval: broken, getInterval: broken, deleteInterval: broken };
    class Odd {
      readonly added: string[] = [];

      addInterval(name: string): void {
        this.added.push(name);
      }
    }
    const odd = new Odd();
    @Injectable({ scope: Scope.REQUEST })
    class Scoped extends SchedulerRegistry {}
    const named = (useValue: unknown): Provider => ({ provide: second(), useValue });
    const app = await start({
      schedule: 'none',
      providers: [
        noop,
        named(odd),
        named(null),
        named('a text'),
        named(throwing),
        named({ ...throwing, addInterval: () => {} }),
        { provide: second(), useClass: Scoped },
      ],
    });
    expect(odd.added).toEqual([]);
    expect(advice).toEqual(
      TASKS.map((name) => expect.stringMatching(`does not list ${name}, .*: .*out of order`)),
    );
    await runsDelays(app);
  });
});
