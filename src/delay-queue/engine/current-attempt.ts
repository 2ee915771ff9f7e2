import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attempt } from './attempt.js';

const storage = new AsyncLocalStorage<Attempt>();

/** Runs a handler so that what it calls knows on behalf of which attempt it acts. */
export const runAs = <Result>(attempt: Attempt, run: () => Result): Result =>
  storage.run(attempt, run);

/** The attempt whose handler is calling; undefined outside, and once its result is decided. */
export function currentAttempt(): Attempt | undefined {
  const attempt = storage.getStore();
  return attempt?.over ? undefined : attempt;
}

/**
 * Whether the caller is a transactional handler that goes on although its attempt is over. What it
 * writes now could not be part of its transaction any more.
 */
export function isLateTransaction(): boolean {
  const attempt = storage.getStore();
  return attempt !== undefined && attempt.over && attempt.handler.transactional;
}
