import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DelayAdmin,
  DelayEvents,
  DelayHealth,
  DelayInvalidError,
  DelayQueueModule,
  DelayService,
  DelayWorker,
  WheelService,
} from 'nestjs-delay-queue';
import { DelayStub, DelayTestingError, provideDelayStub } from 'nestjs-delay-queue/testing';
import '../../support/delay-payloads.js';

@Injectable()
class Orders {
  constructor(
    readonly delays: DelayService,
    readonly admin: DelayAdmin,
    readonly worker: DelayWorker,
    readonly wheel: WheelService,
    readonly events: DelayEvents,
    readonly other: DelayService,
  ) {}
}

let module: TestingModule;
let orders: Orders;
let stub: DelayStub;

beforeEach(async () => {
  module = await Test.createTestingModule({ providers: [Orders, ...provideDelayStub()] })
    .useMocker(() => ({ mocked: true }))
    .compile();
  await module.init();
  orders = module.get(Orders);
  stub = module.get(DelayStub);
});
afterEach(() => module.close());

it('gives all that the module exports, beside what a mocker makes', async () => {
  expect(orders.delays).toBe(orders.other);
  expect(orders.worker.isRunning).toBe(false);
  await orders.worker.run();
  expect(orders.worker.isRunning).toBe(true);
  await orders.worker.stop();
  const timer = orders.wheel.after('1h', () => {});
  expect(orders.wheel.cancel(timer)).toBe(true);
  expect(orders.events.isHeard('dead')).toBe(false);
  expect(await module.get(DelayHealth).check()).toEqual({ status: 'up', reasons: [] });
  for (const token of Reflect.getMetadata('exports', DelayQueueModule) as Type[]) {
    expect(module.get(token)).toBeInstanceOf(token);
  }
});

it('remembers the calls in their order, with a manager that is a mock', async () => {
  const manager = { query: () => [] } as never;
  await orders.delays.schedule('test.a', { n: 1 }, { after: '30m', key: '1', manager });
  await orders.delays.cancel('test.a', '1', { manager });
  await orders.delays.scheduleMany([
    { name: 'test.b', payload: { text: 'x' }, at: new Date(0), headers: { trace: 't' } },
  ]);
  expect(stub.calls.map(({ call, name, verdict }) => [call, name, verdict])).toEqual([
    ['schedule', 'test.a', 'scheduled'],
    ['cancel', 'test.a', 'cancelled'],
    ['schedule', 'test.b', 'scheduled'],
  ]);
  expect(stub.scheduled('test.a')).toMatchObject([
    { key: '1', payload: { n: 1 }, after: 1_800_000, at: null, manager },
  ]);
  expect(stub.scheduled('test.b')).toMatchObject([{ at: new Date(0), headers: { trace: 't' } }]);
  stub.reset();
  expect(stub.calls).toEqual([]);
  expect(await orders.delays.find('test.a', '1')).toBeNull();
});

it('remembers the transaction of another library, and refuses what is none', async () => {
  const tx = { query: async () => [] };
  await orders.delays.schedule('test.a', { n: 1 }, { after: '30m', key: '1', tx });
  expect(stub.scheduled('test.a')).toMatchObject([{ key: '1', manager: tx }]);
  const none = { after: '30m', key: '2', tx: 'tx' as never };
  await expect(orders.delays.schedule('test.a', { n: 1 }, none)).rejects.toThrow(/^tx: must be/);
  const both = { after: '30m', key: '2', tx, manager: 'own' } as const;
  await expect(orders.delays.schedule('test.a', { n: 1 }, both)).rejects.toThrow('not both');
});

it('answers what a test chooses, once, and changes nothing', async () => {
  await orders.delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
  stub.answerNext('test.a', '1', 'running');
  stub.answerNext('test.a', '1', new Error('no connection'));
  stub.answerNext('test.a', '1', 'kept');
  const cancel = () => orders.delays.cancel('test.a', '1');
  expect(await cancel()).toMatchObject({ verdict: 'running', id: '1' });
  await expect(cancel()).rejects.toThrow('no connection');
  await expect(cancel()).rejects.toThrow('cancel never returns kept');
  expect(await cancel()).toMatchObject({ verdict: 'cancelled', id: '1' });
});

it('answers lists of what DelayAdmin changes, by keys and by ids', async () => {
  const { id } = await orders.delays.schedule('test.a', { n: 1 }, { after: '1h', key: '1' });
  const dueAt = new Date(5_000_000_000_000);
  expect(await orders.admin.reschedule([{ id }], { at: dueAt })).toEqual([
    { verdict: 'rescheduled', id, dueAt },
  ]);
  const target = { name: 'test.a', key: '1' } as const;
  expect(await orders.admin.retryDead([target])).toEqual([{ verdict: 'absent' }]);
  expect(await orders.admin.discardDead([target])).toEqual([{ verdict: 'absent' }]);
  expect(await orders.admin.cancel([{ id: '99' }])).toEqual([{ verdict: 'absent' }]);
  expect(await orders.admin.cancel([{ id }])).toMatchObject([{ verdict: 'cancelled', id }]);
  expect(await orders.delays.find('test.a', '1')).toBeNull();
  expect(stub.calls.map(({ call }) => call).slice(1)).toEqual([
    'reschedule',
    'retryDead',
    'discardDead',
    'cancel',
    'cancel',
  ]);
});

it('checks payloads by their schemas, as the queue does', async () => {
  const refuses = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({ issues: [{ message: 'must be positive', path: ['n'] }] }),
    },
  } as const;
  const providers = provideDelayStub({ payloads: { 'test.a': refuses } });
  const checked = await Test.createTestingModule({ providers }).compile();
  const scheduling = checked.get(DelayService).schedule('test.a', { n: -1 }, { after: '1h' });
  await expect(scheduling).rejects.toThrow(DelayInvalidError);
  expect(checked.get(DelayStub).calls).toEqual([]);
});

it.each<[string, () => Promise<unknown>]>([
  ['history', () => orders.delays.history('test.a', '1')],
  ['list', () => orders.admin.list({})],
  ['stats', () => orders.admin.stats()],
  ['cancel by a filter', () => orders.admin.cancel({ name: 'test.a' })],
  ['reschedule by a filter', () => orders.admin.reschedule({ name: 'test.a' }, { after: '1h' })],
  ['runNow', () => orders.admin.runNow([{ name: 'test.a', key: '1' }])],
  ['pause', () => orders.admin.pause('test.a')],
])('%s needs a database, and says so', async (_what, call) => {
  const error = await call().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DelayTestingError);
  expect((error as Error).message).toContain('DelayTesting');
});
