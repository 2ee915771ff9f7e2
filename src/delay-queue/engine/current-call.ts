import { AsyncLocalStorage } from 'node:async_hooks';
import type { Call } from './call.js';

const storage = new AsyncLocalStorage<Call | undefined>();

/**
 * Runs a handler so that what it calls knows on behalf of which call it acts. Where there is nothing
 * to know it costs nothing: to follow a context, Node looks at every promise that is made.
 */
export function runAs<Result>(call: Call, run: () => Result): Result {
  if (call.hasContext) return storage.run(call, run);
  return storage.getStore() === undefined ? run() : storage.run(undefined, run);
}

/** The call whose handler is calling; undefined outside, and once its result is decided. */
export function currentCall(): Call | undefined {
  const call = storage.getStore();
  return call?.over ? undefined : call;
}

/**
 * Whether the caller is a transactional handler that goes on although its call is over. What it
 * writes now could not be part of its transaction any more.
 */
export function isLateTransaction(): boolean {
  const call = storage.getStore();
  return call !== undefined && call.over && call.handler.transactional;
}
