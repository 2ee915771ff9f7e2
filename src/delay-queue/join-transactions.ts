import { describeError } from './api/error-text.js';
import { LogLines } from './api/printable.js';
import { EventEmitter } from 'node:events';
import type { EntityManager } from 'typeorm';
import { dataSourceOf } from './database/chosen-data-source.js';
import type { TransactionEnd } from './database/session-watch.js';
import type { AroundFunction } from './api/contexts.js';
import { DelayConfigError, DelayRolledBackError } from './api/errors.js';
import { TransactionEnds } from './transactions/commit-hooks.js';
import { joined } from './transactions/handler-context.js';

/** The `TransactionHost` of `@nestjs-cls/transactional`, by what is used of it. */
export interface ClsTransactionHost {
  /** The manager of the transaction around a call. */
  readonly tx: unknown;
}

/** What `initializeTransactionalContext` of `typeorm-transactional` answers, and answers again. */
export interface TypeormTransactionalContext {
  set(key: string, value: unknown): void;
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** What a TransactionHost has, and TypeScript hides. */
interface HostInside {
  readonly cls: { run<Result>(options: { ifNested: 'inherit' }, work: () => Result): Result };
  setTxInstance(manager: EntityManager): void;
}

/**
 * An `around` for applications with `@nestjs-cls/transactional`: inside a transactional handler a method with
 * `@Transactional()` is part of the attempt's transaction, as it is of any that surrounds it. Without it, the method
 * begins a second transaction beside the attempt's.
 *
 * ```ts
 * DelayQueueModule.forRootAsync({
 *   inject: [TransactionHost],
 *   useFactory: (host) => ({ resolveManager: () => host.tx, around: joinTransactionHost(host) }),
 * })
 * ```
 *
 * @param host the TransactionHost of the DataSource that the delays are in
 * @throws DelayConfigError for anything else, or one of a version that is made otherwise
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
      // Not taken back at the end: whatever comes later is refused, and begins no transaction of its own.
      inside.setTxInstance(manager);
      return next();
    }),
  );
}

/** The keys of `typeorm-transactional`: of the manager of a DataSource, and of the listeners of a transaction's end. */
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
 *
 * @param context what `initializeTransactionalContext` answers
 * @param dataSourceName the name that `addTransactionalDataSource` was given
 * @throws DelayConfigError for anything else
 */
export function joinTypeormTransactional(
  context: TypeormTransactionalContext,
  dataSourceName = 'default',
): AroundFunction {
  if (typeof context?.set !== 'function' || typeof context.run !== 'function') {
    throw new DelayConfigError(
      'joinTypeormTransactional: must be given what initializeTransactionalContext() of typeorm-transactional answers',
    );
  }
  return joining((manager, next) => {
    const inside = async (): Promise<void> => {
      context.set(MANAGER_OF + dataSourceName, manager);
      context.set(HOOKS, hooksOf(manager));
      await next();
      // The context is a stack: what the handler has begun and not awaited finds its manager there as well.
      await new Promise<void>((resolve) => process.nextTick(resolve));
    };
    // Twice, as the library itself does: the outermost one keeps nothing that is set.
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

/** Told when the transaction is over, in a turn of its own: what a listener throws is logged. */
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
  const what = 'a listener of a transaction that has ended failed';
  new LogLines('DelayQueue').error(`${what}: ${describeError(error)}`, error);
}
