/**
 * Compiled with `declaration: true` and `skipLibCheck: false`, and without `@types/pg`: the
 * compiler must be able to write down every type that follows from the package's.
 */
import {
  DelayEvents,
  DelayInvalidError,
  DelayQueueModule,
  DelayService,
  OnDelay,
  WheelService,
} from 'nestjs-delay-queue';

import type { INestApplicationContext } from '@nestjs/common';
import { openTelemetry } from 'nestjs-delay-queue/opentelemetry';
import { DelayTesting } from 'nestjs-delay-queue/testing';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'order.close': { orderId: string; note?: string };
    'order.bad': { at: Date };
  }
}

export const OnClose = () => OnDelay('order.close', { transactional: true });
export const OnCloseMany = () => OnDelay('order.close', { transactional: true, batch: 100 });
export const OnCloseSlowly = () => OnDelay('order.close', { timeout: process.env.SLOW ?? '1h' });
export const OnCloseManySlowly = () => OnDelay('order.close', { batch: 100 });

export class Delays extends DelayService {
  history5 = () => this.history('order.close', '5');
}
export class Queue extends DelayQueueModule {}
export class Events extends DelayEvents {}
export class Wheel extends WheelService {}
export class Refused extends DelayInvalidError {}

export const queue = DelayQueueModule.forRoot({ dataSource: 'jobs', isGlobal: false });
export const traced = DelayQueueModule.forRoot({ telemetry: openTelemetry() });
export const queueAsync = DelayQueueModule.forRootAsync({
  inject: ['LEASE'],
  useFactory: (lease: string) => ({ lease, history: { keep: lease } }),
});

export const calls = (delays: DelayService, after: string) => ({
  schedule: () => delays.schedule('order.close', { orderId: '1' }, { after, key: '1' }),
  many: () => delays.scheduleMany([{ name: 'order.close', payload: { orderId: '1' }, after }]),
  cancel: () => delays.cancel('order.close', '1'),
  reschedule: () => delays.reschedule('order.close', '1', { extendBy: after }),
  find: () => delays.find('order.close', '1'),
  history: () => delays.history('order.close', '1'),
  retry: () => delays.retryDead('order.close', '1'),
  // @ts-expect-error -- a Date is no part of a payload
  bad: () => delays.schedule('order.bad', { at: new Date() }, { after }),
  // @ts-expect-error -- a name that is not declared
  unknown: () => delays.schedule('order.clsoe', { orderId: '1' }, { after }),
  // @ts-expect-error -- a member that is not declared
  more: () => delays.schedule('order.close', { orderId: '1', more: 2 }, { after }),
});

export const listen = (events: DelayEvents) =>
  events.on('dead', ({ key, error }) => console.error(key?.length, error.length));

export const travel = async (app: INestApplicationContext) => {
  const testing = DelayTesting.of(app);
  const { payload, outcome } = await testing.fire('order.close', '1');
  // @ts-expect-error -- a member that is not declared
  await testing.expectScheduled('order.close', '1', { payload: { orderId: '1', more: 2 } });
  const ran = await testing.advance('48h');
  const closed = ran.flatMap((run) => (run.name === 'order.close' ? [run.payload.orderId] : []));
  return { closed: [...closed, payload.orderId], outcome };
};
