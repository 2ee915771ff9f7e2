import { isPromise } from 'node:util/types';

/** Thenables that one after the other answer the next. A query builder answers one; a circle answers them for ever. */
const THENABLES_MAX = 100;

/** What of a promise its owner may have made his own. */
const OWN = ['then', 'catch', 'finally', 'constructor'] as const;

/**
 * The one door for what a user's function has answered. A thenable need not have `catch` or `finally`, may tell twice,
 * throw, or answer itself: what comes out of here is an ordinary promise, or no promise at all.
 *
 * @returns what is no promise as it is; otherwise a promise of ours, which ends as the answer does
 * @throws what a getter or a proxy throws when it is asked for `then`
 */
export function adopted<Answer>(answer: Answer): Awaited<Answer> | Promise<Awaited<Answer>> {
  if (isOrdinary(answer)) return answer as Promise<Awaited<Answer>>;
  const then = thenOf(answer);
  if (then === undefined) return answer as Awaited<Answer>;
  return new Promise((resolve, reject) => {
    follow(answer, then, { resolve, reject } as Deciding, 1);
  });
}

/**
 * For an answer of a user's function that may have no reader: an unhandled rejection would end the process.
 * @returns the same
 */
export function unheard<Answer>(answer: Answer): Answer {
  try {
    const adoptedAnswer = adopted(answer);
    if (adoptedAnswer instanceof Promise) void adoptedAnswer.catch(() => {});
  } catch {
    // What its getter throws has no reader either.
  }
  return answer;
}

type Then = (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => unknown;

/** Of a promise of ours. */
interface Deciding {
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** One that only the language itself had its hands on. */
function isOrdinary(value: unknown): value is Promise<unknown> {
  return (
    isPromise(value) &&
    Object.getPrototypeOf(value) === Promise.prototype &&
    !OWN.some((name) => Object.hasOwn(value, name))
  );
}

/** Read once: a getter may answer something else the next time. */
function thenOf(value: unknown): Then | undefined {
  const mayHaveOne = (typeof value === 'object' && value !== null) || typeof value === 'function';
  const then: unknown = mayHaveOne ? Reflect.get(value, 'then') : undefined;
  return typeof then === 'function' ? (then as Then) : undefined;
}

/** As the language does it, in a turn of its own; the first that it tells counts. */
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
    const then = thenOf(value);
    if (then === undefined) return resolve(value);
    if (depth < THENABLES_MAX) return follow(value, then, { resolve, reject }, depth + 1);
    reject(new TypeError('a thenable that answers thenables without an end'));
  } catch (error) {
    reject(error);
  }
}

/** For what only watches, such as the application's logger: what it throws or rejects with is dropped. */
export function quietly(watch: () => unknown): void {
  try {
    unheard(watch());
  } catch {
    // What is watched goes on.
  }
}
