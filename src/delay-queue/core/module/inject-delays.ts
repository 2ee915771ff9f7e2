import { Inject, type InjectionToken, type Type } from '@nestjs/common';
import { DEFAULT_QUEUE } from '../config/queue-names.js';
import { DelayService } from './delay.service.js';

/**
 * Injection token of a service of a queue: of `DelayService` unless another one is given.
 *
 * ```ts
 * app.get(getDelaysToken('eu', DelayAdmin));
 * ```
 * @param queue as in `forRoot({ queue })`; without it, the default queue's
 */
export function getDelaysToken<Service = DelayService>(
  queue: string = DEFAULT_QUEUE,
  service: Type<Service> = DelayService as never,
): InjectionToken<Service> {
  return queue === DEFAULT_QUEUE ? service : `nestjs-delay-queue:${queue}:${service.name}`;
}

/**
 * Injects a service of a queue: its `DelayService` unless another one is given.
 *
 * ```ts
 * constructor(
 *   @InjectDelays('eu') private readonly delays: DelayService,
 *   @InjectDelays('eu', DelayAdmin) private readonly admin: DelayAdmin,
 * ) {}
 * ```
 */
export const InjectDelays = (
  ...of: Parameters<typeof getDelaysToken>
): ParameterDecorator & PropertyDecorator => Inject(getDelaysToken(...of));
