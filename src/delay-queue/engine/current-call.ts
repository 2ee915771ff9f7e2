import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager, QueryRunner } from 'typeorm';
import type { Call } from './call.js';

const storage = new AsyncLocalStorage<Call | undefined>();

/** A transactional call, by the one runner that is made for it. */
const byRunner = new WeakMap<QueryRunner, Call>();

/**
 * Runs a handler so that what it calls knows on behalf of which call it acts. Where there is nothing
 * to know it costs nothing: to follow a context, Node looks at every promise that is made.
 */
export function runAs<Result>(call: Call, run: () => Result): Result {
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
export function currentCall(): Call | undefined {
  const call = storage.getStore();
  return call?.over ? undefined : call;
}

/** The transactional call whose own transaction that is, also when it is over. */
export const callOfManager = ({ queryRunner }: EntityManager): Call | undefined =>
  queryRunner && byRunner.get(queryRunner);

/**
 * The call on whose behalf something is written: with the manager of a transactional one that one, and a plain one
 * by its async context.
 */
export function actingCall(manager: EntityManager | undefined): Call | undefined {
  const call = manager && callOfManager(manager);
  if (call !== undefined) return call;
  const current = currentCall();
  return current?.handler.transactional ? undefined : current;
}
