import { expect, it } from '@jest/globals';
import type { DynamicModule } from '@nestjs/common';
import {
  type DashboardAction,
  type DashboardAuthorize,
  type DashboardGrant,
  type DelayQueueDashboardAsyncOptions,
  DelayQueueDashboardModule,
  type DelayQueueDashboardOptions,
} from 'nestjs-delay-queue/dashboard';
import type { IncomingMessage } from 'node:http';
import { fits, same } from '../../support/same-type.js';

function made(): void {
  fits<DashboardAuthorize>(({ headers }) => {
    const who = headers['x-user'];
    return typeof who === 'string' ? { who, actions: ['view', 'retry'], names: ['a'] } : null;
  });
  fits<DashboardAuthorize>(async () => ({ who: 'anna', actions: 'all', groups: ['shop-7'] }));
  same<Parameters<DashboardAuthorize>, [request: IncomingMessage, about: { queue: string }]>(true);
  same<DashboardGrant['actions'], 'all' | readonly DashboardAction[]>(true);
  fits<DashboardAction>('viewPayloads');
  const authorize: DashboardAuthorize = () => null;
  same<ReturnType<typeof DelayQueueDashboardModule.forRoot>, DynamicModule>(true);
  DelayQueueDashboardModule.forRoot({ authorize, path: '/admin/delays', environment: 'staging' });
  DelayQueueDashboardModule.forRootAsync({ useFactory: async () => ({ authorize }) });
  fits<DelayQueueDashboardAsyncOptions>({ useFactory: () => ({ authorize: 'loopback' }) });
  fits<DelayQueueDashboardOptions>({ authorize, redact: (payload, { name }) => [payload, name] });
  // @ts-expect-error -- who may do what must be said
  DelayQueueDashboardModule.forRoot({});
  // @ts-expect-error -- asynchronous options come from a factory
  DelayQueueDashboardModule.forRootAsync({ authorize });
  // @ts-expect-error -- the factory decides it, too
  fits<DelayQueueDashboardAsyncOptions>({ useFactory: () => ({ path: '/delays' }) });
  // @ts-expect-error -- a path is a text
  fits<DelayQueueDashboardOptions>({ authorize, path: /delays/ });
  // @ts-expect-error -- no such action
  fits<DashboardGrant>({ who: 'anna', actions: ['delete'] });
  // @ts-expect-error -- an action is written down with who did it
  fits<DashboardGrant>({ actions: 'all' });
}

it('who may see and do what is typed', () => {
  expect(made).toBeInstanceOf(Function);
});
