import type { DelayName, PayloadOf } from '../delay/delay.js';
import type { RepeatOptions } from '../delay/time/repeat.js';
import { entriesAt, leaveAt } from './decorated-method.js';

const REPEAT_DELAY_METADATA = 'nestjs-delay-queue:repeat-delay';

/** What `@RepeatDelay` takes. */
export type RepeatDelayOptions<N extends DelayName = DelayName> = RepeatOptions & {
  /**
   * Of its delay; several of one name need one each.
   * @default 'repeat'
   */
  key?: string;
} & (unknown extends PayloadOf<N>
    ? {
        /**
         * What its handler gets; must be given where `DelayPayloads` declares the name.
         * @default null
         */
        payload?: unknown;
      }
    : {
        /** What its handler gets. */
        payload: PayloadOf<N>;
      });

/** What `@RepeatDelay` leaves behind for the explorer, which checks it. */
export interface RepeatDelayMetadata {
  name: unknown;
  options: unknown;
}

/**
 * Makes a delay of that name recur, on any number of nodes as one row. It stands beside the `@OnDelay` of that name; a
 * method may carry several, with different keys.
 *
 * ```ts
 * @RepeatDelay('report.daily', { cron: '0 3 * * *', timeZone: 'Europe/Berlin', payload: { region: 'eu' } })
 * @OnDelay('report.daily', { transactional: true })
 * async write(delay: Delay<'report.daily'>, ctx: TransactionalDelayContext): Promise<void> {}
 * ```
 *
 * What is not acceptable stops the start with a `DelayConfigError` that names class, method and option.
 */
export function RepeatDelay<N extends DelayName>(
  name: N,
  options: RepeatDelayOptions<N>,
): MethodDecorator {
  return (...at: unknown[]) =>
    leaveAt(at, '@RepeatDelay', REPEAT_DELAY_METADATA, {
      name,
      options,
    } satisfies RepeatDelayMetadata);
}

/** The `@RepeatDelay` entries of a method, in the order they are written; inherited ones count. */
export function repeatDelayMetadata(prototype: object, methodName: string): RepeatDelayMetadata[] {
  return entriesAt(REPEAT_DELAY_METADATA, prototype, methodName);
}
