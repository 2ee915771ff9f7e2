import { isPromise } from 'node:util/types';

/** Longest chain of thenables. A query builder adds one link; a cycle would never end. */
const THENABLES_MAX = 100;

/** Members that may be overridden on a promise itself. */
const OWN = ['then', 'catch', 'finally', 'constructor'] as const;

/**
 * Adopts the result of a user's function. A thenable may lack `catch` and `finally`, answer twice,
 * throw, or resolve to itself; what this returns is an ordinary promise, or none.
 * @returns what is not a promise, unchanged; otherwise a native promise with the same outcome
 * @throws what a getter or proxy throws when `then` is read
 */
export function adopted<Answer>(answer: Answer): Awaited<Answer> | Promise<Awaited<Answer>> {
  if (isOrdinary(answer)) return answer as Promise<Awaited<Answer>>;
  const then = thenMethod(answer);
  if (then === undefined) return answer as Awaited<Answer>;
  return new Promise((resolve, reject) => {
    follow(answer, then, { resolve, reject } as Deciding, 1);
  });
}

/**
 * For a user's result that may have no reader: an unhandled rejection would end the process.
 * @returns the same result
 */
export function ignoreRejection<Answer>(answer: Answer): Answer {
  try {
    const adoptedAnswer = adopted(answer);
    if (adoptedAnswer instanceof Promise) void adoptedAnswer.catch(() => {});
  } catch {
    // An error of its getter has no reader either.
  }
  return answer;
}

type Then = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => unknown;

/** The two functions of the native promise. */
interface Deciding {
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** A native promise without overrides. */
function isOrdinary(value: unknown): value is Promise<unknown> {
  return (
    isPromise(value) &&
    Object.getPrototypeOf(value) === Promise.prototype &&
    !OWN.some((name) => Object.hasOwn(value, name))
  );
}

/** Read once: a getter may return something else the next time. */
function thenMethod(value: unknown): Then | undefined {
  const mayHaveOne = (typeof value === 'object' && value !== null) || typeof value === 'function';
  const then: unknown = mayHaveOne ? Reflect.get(value, 'then') : undefined;
  return typeof then === 'function' ? (then as Then) : undefined;
}

/** The way the language does it: in a microtask, and only the first call of `resolve` or `reject` counts. */
function follow(thenable: unknown, then: Then, deciding: Deciding, depth: number): void {
  let isTold = false;
  const first =
    (tell: (value: unknown) => void) =>
    (value: unknown): void => {
      if (isTold) return;
      isTold = true;
      tell(value);
    };
  const reject = first(deciding.reject);
  const resolve = first((value) => goOn(value, deciding, depth));
  queueMicrotask(() => {
    try {
      Reflect.apply(then, thenable, [resolve, reject]);
    } catch (error) {
      reject(error);
    }
  });
}

function goOn(value: unknown, { resolve, reject }: Deciding, depth: number): void {
  try {
    if (isOrdinary(value)) return resolve(value);
    const then = thenMethod(value);
    if (then === undefined) return resolve(value);
    if (depth < THENABLES_MAX) return follow(value, then, { resolve, reject }, depth + 1);
    reject(new TypeError('a chain of thenables without an end'));
  } catch (error) {
    reject(error);
  }
}

/** Calls an observer, such as the application's logger. What it throws or rejects is dropped. */
export function quietly(watch: () => unknown): void {
  try {
    ignoreRejection(watch());
  } catch {
    // The observed work goes on.
  }
}
