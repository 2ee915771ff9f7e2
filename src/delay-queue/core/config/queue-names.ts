import { oneOrMany, textMatching } from './checks.js';

/** The queue of a `forRoot()`, a handler or a call that names none. */
export const DEFAULT_QUEUE = 'default';

/** Most queues that one handler serves. */
const QUEUES_MAX = 1_000;

/** It stands in addresses of the dashboard. @throws DelayInvalidError */
export const checkQueue = textMatching(
  /^[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$/,
  '1 to 48 letters, digits and ._-, beginning with a letter or digit',
);

/**
 * The queues that a decorated method serves: one, or a list.
 * @throws DelayInvalidError
 */
export const parseQueues = (value: unknown = DEFAULT_QUEUE): string[] =>
  oneOrMany(QUEUES_MAX, checkQueue)(value, 'queue');

/** Injection token of the queue's name within its module. */
export const QUEUE = Symbol('delay-queue name');

/**
 * Injection tokens within a queue's module, of what applications inject as `DelayEvents`, `WheelService`
 * and `DelayHealth`, or by `@InjectDelays` of that queue.
 */
export const EVENTS = Symbol('delay-queue events');
export const WHEEL = Symbol('delay-queue wheel');
export const HEALTH = Symbol('delay-queue health');

/** Injection token of the services of all queues of the application; set before any call is made. */
export const ALL_SERVICES = Symbol('delay-queue services');

/** The context of log lines. */
export const logContext = (queue: string): string =>
  queue === DEFAULT_QUEUE ? 'DelayQueue' : `DelayQueue ${queue}`;
