import type { INestApplicationContext } from '@nestjs/common';
import { DelayConfigError, DelayInvalidError } from '../delay/delay.errors.js';
import { DelayEvents } from '../delay/delay.events.js';
import { HandlerRegistry } from '../handlers/handler.registry.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../options/delay-queue.options.js';
import { Producer } from '../producer/producer.js';
import { Engine } from '../runtime/engine.js';
import { shown } from '../validation/shown.js';

/** What of an application is under test. */
export interface Tested {
  engine: Engine;
  registry: HandlerRegistry;
  events: DelayEvents;
  producer: Producer;
  options: ResolvedOptions;
}

/** @throws DelayInvalidError for what is no application, DelayConfigError for one without a queue of ours */
export function testedOf(app: unknown): Tested {
  if (typeof (app as { get?: unknown } | null | undefined)?.get !== 'function') {
    throw new DelayInvalidError('app', `must be a Nest application or module, not ${shown(app)}`);
  }
  const { get } = app as Pick<INestApplicationContext, 'get'>;
  const of: INestApplicationContext['get'] = (token: never) =>
    get.call(app, token, { strict: false }) as never;
  try {
    return {
      engine: of(Engine),
      registry: of(HandlerRegistry),
      events: of(DelayEvents),
      producer: of(Producer),
      options: of(RESOLVED_OPTIONS),
    };
  } catch (error) {
    throw new DelayConfigError(
      'this application has no DelayQueueModule.forRoot(), or one of another copy of nestjs-delay-queue',
      { cause: error },
    );
  }
}
