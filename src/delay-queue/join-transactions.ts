import { describeError, LogLines } from './api/error-text.js';
import { EventEmitter } from 'node:events';
import type { EntityManager } from 'typeorm';
import { dataSourceOf, type TransactionEnd } from './database/session-watch.js';
import type { AroundFunction } from './api/delay.js';
import { DelayConfigError, DelayRolledBackError } from './api/errors.js';
import { TransactionEnds } from './transactions/commit-hooks.js';
import { joined } from './transactions/handler-context.js';

/** The used part of the `TransactionHost` of `@nestjs-cls/transactional`. */
export interface ClsTransactionHost {
  /** The manager of the transaction around a call. */
  readonly tx: unknown;
}

/** What `initializeTransactionalContext` of `typeorm-transactional` returns, on every call. */
export interface TypeormTransactionalContext {
  set(key: string, value: unknown): void;
  run<Result>(work: () => Promise<Result>): Promise<Result>;
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
  return joining((manager, next) =>
    inside.cls.run({ ifNested: 'inherit' }, () => {
      // Never reset: a late statement is refused, and begins no second transaction.
      inside.setTxInstance(manager);
      return next();
    }),
  );
}

/** Context keys of `typeorm-transactional`: manager of a DataSource, hooks of a transaction. */
const MANAGER_OF = '@transactional/data-source/';
const HOOKS = '@transactional/hook';

/**
 * The same for `typeorm-transactional`. `runOnTransactionCommit`, `runOnTransactionRollback` and
 * `runOnTransactionComplete` wait for the end of the attempt's transaction.
 *
 * ```ts
 * DelayQueueModule.forRootAsync({
 *   inject: [DataSource],
 *   useFactory: (dataSource) => ({
 *     resolveManager: () => dataSource.manager,
 *     around: joinTypeormTransactional(initializeTransactionalContext()),
 *   }),
 * })
 * ```
 * @param context the result of `initializeTransactionalContext`
 * @param dataSourceName the name given to `addTransactionalDataSource`
 * @throws DelayConfigError for anything else
 */
export function joinTypeormTransactional(
  context: TypeormTransactionalContext,
  dataSourceName = 'default',
): AroundFunction {
  if (typeof context?.set !== 'function' || typeof context.run !== 'function') {
    throw new DelayConfigError(
      'joinTypeormTransactional: must be given the result of initializeTransactionalContext() of typeorm-transactional',
    );
  }
  return joining((manager, next) => {
    const inside = async (): Promise<void> => {
      context.set(MANAGER_OF + dataSourceName, manager);
      context.set(HOOKS, hooksOf(manager));
      await next();
      // The context is a stack: calls that the handler started and did not await also find its
      // manager.
      await new Promise<void>((resolve) => process.nextTick(resolve));
    };
    // Twice, as the library does: its outermost context keeps nothing that is set.
    return context.run(() => context.run(inside));
  });
}

function joining(
  enter: (manager: EntityManager, next: () => Promise<void>) => Promise<void>,
): AroundFunction {
  return ({ manager }, next) => {
    if (manager?.queryRunner === undefined) return next();
    joined.add(manager.queryRunner);
    return enter(manager, next);
  };
}

/** Emits after the transaction, in a later turn of the event loop. Listener errors are logged. */
function hooksOf(manager: EntityManager): EventEmitter {
  const hooks = new EventEmitter();
  hooks.setMaxListeners(0);
  const dataSource = dataSourceOf(manager);
  const { queryRunner } = manager;
  if (dataSource === undefined || queryRunner === undefined) return hooks;
  const over = (end: TransactionEnd): void =>
    void setImmediate(() => {
      const error = end === 'committed' ? undefined : new DelayRolledBackError();
      tell(hooks, error === undefined ? 'commit' : 'rollback', error);
      tell(hooks, 'end', error);
      hooks.removeAllListeners();
    });
  TransactionEnds.of(dataSource).leave(queryRunner, { over });
  return hooks;
}

function tell(hooks: EventEmitter, event: string, error: Error | undefined): void {
  for (const listener of hooks.rawListeners(event)) {
    try {
      void Promise.resolve(listener.call(hooks, error)).catch(logged);
    } catch (thrown) {
      logged(thrown);
    }
  }
}

function logged(error: unknown): void {
  const what = 'a listener failed after its transaction had ended';
  new LogLines('DelayQueue').error(`${what}: ${describeError(error)}`, error);
}
