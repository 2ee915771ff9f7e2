import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager, QueryRunner } from 'typeorm';
import { unheard } from '../api/adopted.js';
import { DelayInvalidError } from '../api/errors.js';
import { readable, shown } from '../config/blame.js';
import type { Occurrence } from '../recurrence/recurrence.js';
import type { OwnAttempt } from '../store/rows/delay-rows.js';

/** A handler's call, as the code sees it that the handler calls. */
export interface ActingCall {
  readonly handler: { readonly transactional: boolean };
  /** The call's own transaction, while a transactional handler runs. */
  readonly manager: EntityManager | undefined;
  /** What the handler still does counts no more: the result is decided. */
  readonly over: boolean;
  /** Whether the code that the handler calls must know for which call it acts. */
  readonly hasContext: boolean;
  /** Those that are not decided yet. */
  readonly attempts: readonly ActingAttempt[];
  /** The attempt on that delay, if it is of this call: then the row is the handler's own. */
  attemptOf(name: string, key: string | null): ActingAttempt | undefined;
}

/** An attempt whose handler runs, and may move its own row on. */
export interface ActingAttempt extends OwnAttempt {
  readonly handler: { readonly transactional: boolean };
  readonly name: string;
  readonly key: string | null;
  /** Of a delay that recurs. */
  readonly occurrence: Occurrence | null;
  movedOn: boolean;
}

/** Tells the engine's statements from those of a handler that shares its runner. */
export class EngineSide {
  /** Does work for the engine. All that the work calls, such as an application's subscribers, counts as the engine. */
  run<Result>(work: () => Result): Result {
    return storage.run(this, work);
  }

  get isCurrent(): boolean {
    return storage.getStore() === this;
  }
}

/** One storage for calls and engine sides: Node 20 pays for each storage at every promise that is made. */
const storage = new AsyncLocalStorage<ActingCall | EngineSide | undefined>();

/** Transactional calls, each by the runner that was made for it alone. */
const byRunner = new WeakMap<QueryRunner, ActingCall>();

/** Runners of attempts whose transaction is what the application's library finds as the surrounding one. */
export const joined = new WeakSet<QueryRunner>();

export function isJoined({ manager }: ActingCall): boolean {
  return manager?.queryRunner !== undefined && joined.has(manager.queryRunner);
}

/**
 * Runs a handler so that the code that it calls knows for which call it acts. A handler that needs no context
 * runs without one, since Node then looks at every promise that is made.
 */
export function runAs<Result>(call: ActingCall, run: () => Result): Result {
  const runner = call.manager?.queryRunner;
  if (runner !== undefined) byRunner.set(runner, call);
  if (call.hasContext) return storage.run(call, run);
  return storage.getStore() === undefined ? run() : storage.run(undefined, run);
}

/**
 * The call in whose async context this code runs; undefined outside of a call, and once its result is decided.
 * The context alone proves little: a socket or a timer that was made inside a handler keeps its context, also
 * for work that has nothing to do with the handler.
 */
export function currentCall(): ActingCall | undefined {
  const call = storage.getStore();
  return call === undefined || call instanceof EngineSide || call.over ? undefined : call;
}

/** The transactional call that this manager was made for, also when that call is over. */
export const callOfManager = ({ queryRunner }: EntityManager): ActingCall | undefined =>
  queryRunner && byRunner.get(queryRunner);

/** The call that writes: a transactional call is known by its manager, a plain call by its async context. */
export function actingCall(manager: EntityManager | undefined): ActingCall | undefined {
  const call = manager && callOfManager(manager);
  if (call !== undefined) return call;
  const current = currentCall();
  return current?.handler.transactional ? undefined : current;
}

/** The manager of the transaction in whose context a call is made. */
export type Surrounding = () => EntityManager | undefined;

/**
 * @param resolve the application's answer, perhaps a manager without a transaction: libraries fall back to
 * `dataSource.manager` outside of one
 * @throws DelayInvalidError when that is no manager; and what it throws
 */
export function surroundingBy(resolve: (() => unknown) | undefined): Surrounding | undefined {
  if (resolve === undefined) return undefined;
  return () => {
    const answer = resolve();
    if (answer === undefined) return undefined;
    if (!readable('resolveManager', () => isManager(answer))) {
      unheard(answer);
      throw new DelayInvalidError(
        'resolveManager',
        `must answer an EntityManager or undefined, not ${shown(answer)}`,
      );
    }
    const manager = answer as EntityManager;
    return manager.queryRunner?.isTransactionActive ? manager : undefined;
  };
}

/** By TypeORM's own mark, not by class: an application may have a second copy of TypeORM. */
export function isManager(value: unknown): value is EntityManager {
  return (
    typeof value === 'object' &&
    value !== null &&
    Reflect.get(value, '@instanceof') === Symbol.for('EntityManager')
  );
}
