import type { EntityManager } from 'typeorm';
import type { AroundFunction } from '../api/delay.js';
import { DelayConfigError } from '../api/errors.js';
import { joined } from '../transactions/handler-context.js';

/** The used part of the `TransactionHost` of `@nestjs-cls/transactional`. */
export interface ClsTransactionHost {
  /** The manager of the transaction around a call. */
  readonly tx: unknown;
}

/** Members of a TransactionHost that TypeScript hides. */
interface HostInside {
  readonly cls: { run<Result>(options: { ifNested: 'inherit' }, work: () => Result): Result };
  setTxInstance(manager: EntityManager): void;
}

/**
 * Middleware (`around`) for applications with `@nestjs-cls/transactional`: inside a transactional
 * handler, a method with `@Transactional()` joins the attempt's transaction. Without this
 * middleware, it would begin a second one.
 *
 * ```ts
 * DelayQueueModule.forRootAsync({
 *   inject: [TransactionHost],
 *   useFactory: (host) => ({ resolveManager: () => host.tx, around: joinTransactionHost(host) }),
 * })
 * ```
 * @param host the TransactionHost of the delays' DataSource
 * @throws DelayConfigError for anything else, and for a version with other internals
 */
export function joinTransactionHost(host: ClsTransactionHost): AroundFunction {
  const inside = host as unknown as HostInside | undefined;
  if (typeof inside?.setTxInstance !== 'function' || typeof inside.cls?.run !== 'function') {
    throw new DelayConfigError(
      'joinTransactionHost: must be given the TransactionHost of @nestjs-cls/transactional, 3.x',
    );
  }
  return joinTransaction((manager, next) =>
    inside.cls.run({ ifNested: 'inherit' }, () => {
      // Never reset: a late statement is refused, and begins no second transaction.
      inside.setTxInstance(manager);
      return next();
    }),
  );
}

/**
 * The same for a context of your own, or of another library: `enter` opens it around the call of a
 * transactional handler. A write without `manager` inside then finds its transaction through
 * `resolveManager`, as elsewhere.
 *
 * ```ts
 * DelayQueueModule.forRoot({
 *   resolveManager: () => storage.getStore(),
 *   around: joinTransaction((manager, next) => storage.run(manager, next)),
 * })
 * ```
 * @param enter calls `next` with the manager of the attempt in the context, and returns its promise
 * @throws DelayConfigError if it is no function
 */
export function joinTransaction(
  enter: (manager: EntityManager, next: () => Promise<void>) => Promise<void>,
): AroundFunction {
  if (typeof enter !== 'function') {
    throw new DelayConfigError('joinTransaction: must be given a function (manager, next)');
  }
  return ({ manager }, next) => {
    if (manager?.queryRunner === undefined) return next();
    joined.add(manager.queryRunner);
    return enter(manager, next);
  };
}
