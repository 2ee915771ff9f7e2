import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager, QueryRunner } from 'typeorm';
import { ignoreRejection } from '../api/adopted.js';
import type { DelayTransaction } from '../api/delay.js';
import { DelayInvalidError } from '../api/errors.js';
import { readable } from '../config/refusals.js';
import { shown } from '../config/shown.js';
import type { Occurrence } from '../recurrence/occurrence.js';
import type { OwnAttempt } from '../store/rows/delay-rows.js';

/** A handler's call, as seen by the code that the handler calls. */
export interface ActingCall {
  readonly handler: { readonly transactional: boolean; readonly queue: object };
  /** The call's own transaction, while a transactional handler runs. */
  readonly manager: EntityManager | undefined;
  /** The result is decided: what the handler still does has no effect. */
  readonly over: boolean;
  /** Whether code that the handler calls must be able to find this call. */
  readonly hasContext: boolean;
  /** Attempts that are not decided yet. */
  readonly attempts: readonly ActingAttempt[];
  /** This call's attempt on that delay, if any: then the row is the handler's own. */
  attemptOf(name: string, key: string | null): ActingAttempt | undefined;
}

/** An attempt whose handler runs, and may move its own row. */
export interface ActingAttempt extends OwnAttempt {
  readonly handler: { readonly transactional: boolean };
  readonly name: string;
  readonly key: string | null;
  /** Set for a recurring delay. */
  readonly occurrence: Occurrence | null;
  movedOn: boolean;
}

/** A manager, or the transaction of another library, which has no runner. */
export type Joining = Pick<EntityManager, 'queryRunner'>;

/** Tells the engine's statements from a handler's on the same runner. */
export class EngineSide {
  /** Runs the engine's work. Everything it calls, such as subscribers, counts as the engine. */
  run<Result>(work: () => Result): Result {
    return storage.run(this, work);
  }

  get isCurrent(): boolean {
    return storage.getStore() === this;
  }
}

/** One storage for calls and engine sides: in Node 20 each storage costs time at every promise. */
const storage = new AsyncLocalStorage<ActingCall | EngineSide | undefined>();

/** Transactional calls, each by the runner made for it alone. */
const byRunner = new WeakMap<QueryRunner, ActingCall>();

/** Runners of attempts whose transaction the application's library finds as the surrounding one. */
export const joined = new WeakSet<QueryRunner>();

export function isJoined({ manager }: ActingCall): boolean {
  return manager?.queryRunner !== undefined && joined.has(manager.queryRunner);
}

/**
 * Runs a handler so that the code it calls can find its call. Skips the context if the handler
 * needs none: with one, Node does work at every promise.
 */
export function runAs<Result>(call: ActingCall, run: () => Result): Result {
  const runner = call.manager?.queryRunner;
  if (runner !== undefined) byRunner.set(runner, call);
  if (call.hasContext) return storage.run(call, run);
  return storage.getStore() === undefined ? run() : storage.run(undefined, run);
}

/**
 * The call in whose async context this code runs; undefined outside of a call, and once its result
 * is decided. The context proves little: a socket or timer made in a handler keeps it, even for
 * work that has nothing to do with the handler.
 */
export function currentCall(): ActingCall | undefined {
  const call = storage.getStore();
  return call === undefined || call instanceof EngineSide || call.over ? undefined : call;
}

/** The transactional call that the manager was made for, even if that call is over. */
export const callOfManager = ({ queryRunner }: Joining): ActingCall | undefined =>
  queryRunner && byRunner.get(queryRunner);

/**
 * The call that writes to that queue: found by its manager if transactional, by async context if
 * plain. None in a transaction of another library, whose rollback would not be seen: there a
 * handler's own row counts as running. None of another queue, where the same name, key and id are
 * another delay.
 */
export function actingCall(queue: object, manager: Joining | undefined): ActingCall | undefined {
  if (manager !== undefined && !isManager(manager)) return undefined;
  const call = (manager && callOfManager(manager)) ?? unlessTransactional(currentCall());
  return call?.handler.queue === queue ? call : undefined;
}

const unlessTransactional = (call: ActingCall | undefined): ActingCall | undefined =>
  call?.handler.transactional ? undefined : call;

/** Finds the transaction in whose context a call is made. */
export type Surrounding = () => EntityManager | DelayTransaction | undefined;

/**
 * @param resolve may return a manager without a transaction, as libraries fall back to
 *   `dataSource.manager`
 * @throws DelayInvalidError if it returns something else; and what it throws
 */
export function surroundingBy(resolve: (() => unknown) | undefined): Surrounding | undefined {
  if (resolve === undefined) return undefined;
  return () => {
    const answer = resolve();
    if (answer === undefined) return undefined;
    if (readable('resolveManager', () => isForeign(answer))) return answer as DelayTransaction;
    if (!readable('resolveManager', () => isManager(answer))) {
      ignoreRejection(answer);
      throw new DelayInvalidError(
        'resolveManager',
        `must return an EntityManager, a transaction such as fromPrisma(tx), or undefined, not ${shown(answer)}`,
      );
    }
    const manager = answer as EntityManager;
    return manager.queryRunner?.isTransactionActive ? manager : undefined;
  };
}

/** Whether it is another library's transaction: a manager can send statements, too. */
const isForeign = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  typeof Reflect.get(value, 'query') === 'function' &&
  !isManager(value);

/** By TypeORM's own mark, not by class: an application may have a second copy of TypeORM. */
export function isManager(value: unknown): value is EntityManager {
  return (
    typeof value === 'object' &&
    value !== null &&
    Reflect.get(value, '@instanceof') === Symbol.for('EntityManager')
  );
}
