import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager, QueryRunner } from 'typeorm';
import type { OwnAttempt } from '../../store/wire/delay-rows.js';

/** A handler's call, as those see it whom the handler calls. */
export interface ActingCall {
  readonly handler: { readonly transactional: boolean };
  /** The call's own transaction, while a transactional handler runs. */
  readonly manager: EntityManager | undefined;
  /** What the handler still does counts no more: the result is decided. */
  readonly over: boolean;
  /** Whether what it calls must know on behalf of which call it acts. */
  readonly hasContext: boolean;
  /** Its attempt of that delay: whose own row it is that a handler moves. */
  attemptOf(name: string, key: string | null): ActingAttempt | undefined;
}

/** An attempt whose handler runs, and may move its own row on. */
export interface ActingAttempt extends OwnAttempt {
  readonly handler: { readonly transactional: boolean };
  movedOn: boolean;
}

/** Stands for the engine itself, as the other side of one handler. */
export class EngineSide {
  /** Does something on its behalf, and so do whoever is called by that, such as an application's subscribers. */
  run<Result>(work: () => Result): Result {
    return storage.run(this, work);
  }

  get isCurrent(): boolean {
    return storage.getStore() === this;
  }
}

/** One for both: Node 20 pays for each storage at every promise that is made. */
const storage = new AsyncLocalStorage<ActingCall | EngineSide | undefined>();

/** A transactional call, by the one runner that is made for it. */
const byRunner = new WeakMap<QueryRunner, ActingCall>();

/**
 * Runs a handler so that what it calls knows on behalf of which call it acts. Where there is nothing
 * to know it costs nothing: to follow a context, Node looks at every promise that is made.
 */
export function runAs<Result>(call: ActingCall, run: () => Result): Result {
  const runner = call.manager?.queryRunner;
  if (runner !== undefined) byRunner.set(runner, call);
  if (call.hasContext) return storage.run(call, run);
  return storage.getStore() === undefined ? run() : storage.run(undefined, run);
}

/**
 * The call in whose async context this is; undefined outside, and once its result is decided. That says
 * where somebody comes from, not what he wants: sockets and timers that were made in there carry what has
 * nothing to do with it.
 */
export function currentCall(): ActingCall | undefined {
  const call = storage.getStore();
  return call === undefined || call instanceof EngineSide || call.over ? undefined : call;
}

/** The transactional call whose own transaction that is, also when it is over. */
export const callOfManager = ({ queryRunner }: EntityManager): ActingCall | undefined =>
  queryRunner && byRunner.get(queryRunner);

/**
 * The call on whose behalf something is written: with the manager of a transactional one that one, and a plain one
 * by its async context.
 */
export function actingCall(manager: EntityManager | undefined): ActingCall | undefined {
  const call = manager && callOfManager(manager);
  if (call !== undefined) return call;
  const current = currentCall();
  return current?.handler.transactional ? undefined : current;
}
