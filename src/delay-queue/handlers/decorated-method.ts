import 'reflect-metadata';
import { isAsyncFunction, isGeneratorFunction } from 'node:util/types';
import { DelayConfigError } from '../api/errors.js';
import type { DelayRepeat } from '../api/delay.js';
import { checkKnownOptions } from '../config/known-options.js';
import { checkKey, checkName } from '../config/names.js';
import type { Payloads } from '../config/payloads.js';
import { checkRepeat, REPEAT_OPTIONS } from '../config/schedule-options.js';

/** Names of the decorated methods of a class, with their decorator. */
const DECORATED_METADATA = 'nestjs-delay-queue:decorated';

/** The compiler's message for a method that cannot be called the way its decorator calls it. */
export interface Misfit<Method> {
  readonly 'this method cannot be called with what it would get': Method;
}

/**
 * Whether a method can be called like `Method`. Parameters are compared as a list: without
 * `strictFunctionTypes`, the default of `nest new`, functions compare in either direction, and a
 * handler could ask for parameters that it does not receive.
 */
export type FitOf<T, Method> = 0 extends 1 & T
  ? unknown
  : T extends (...given: infer Given) => infer Returned
    ? Method extends (...given: infer Gets) => infer Awaits
      ? [Gets, Returned] extends [[...Given, ...any[]], Awaits]
        ? unknown
        : Misfit<Method>
      : never
    : Misfit<Method>;

/** A method decorator that compiles only on a method that can be called like `Method`. */
export interface DecoratorOf<Method> {
  /** For `applyDecorators`, which requires a decorator of anything. Refused on a class. */
  (target: Function): void;
  <T>(
    target: object,
    methodName: string | symbol,
    descriptor: TypedPropertyDescriptor<T> & FitOf<T, Method>,
  ): void;
}

/**
 * Stores an entry for the method, on the class and not on the function: a decorator above that
 * wraps the function would lose it silently.
 * @param decorator as written in the code, for messages
 * @throws DelayConfigError for anything but an ordinary method: it would never be found
 */
export function leaveAt(
  [target, methodName, descriptor]: readonly unknown[],
  decorator: string,
  key: string,
  entry: unknown,
): void {
  const { prototype, method } = methodOf(target, methodName, descriptor, decorator);
  // Entries of an overridden method do not count.
  const entries = Reflect.getOwnMetadata(key, prototype, method) ?? [];
  Reflect.defineMetadata(key, [entry, ...entries], prototype, method);
  const decorated: ReadonlyMap<string, string> =
    Reflect.getOwnMetadata(DECORATED_METADATA, prototype) ?? new Map();
  const all = new Map([...decorated, [method, decorator]]);
  Reflect.defineMetadata(DECORATED_METADATA, all, prototype);
}

/** The entries of a method in source order, inherited ones included. */
export function entriesAt<Entry>(key: string, prototype: object, methodName: string): Entry[] {
  return Reflect.getMetadata(key, prototype, methodName) ?? [];
}

/**
 * @param place class of these methods, for the message
 * @throws DelayConfigError if a decorated method was replaced by something else
 */
export function checkDecorated(prototype: object, place: string): void {
  for (let of: object | null = prototype; of !== null; of = Object.getPrototypeOf(of)) {
    const decorated: ReadonlyMap<string, string> =
      Reflect.getOwnMetadata(DECORATED_METADATA, of) ?? new Map();
    for (const [methodName, decorator] of decorated) {
      const what = otherThanMethod(propertyOf(prototype, methodName));
      if (what === undefined) continue;
      throw new DelayConfigError(
        `${place}.${methodName}: ${decorator} is on a method that has become ${what}, through a subclass or another ` +
          'decorator; it would never be called',
      );
    }
  }
}

function propertyOf(prototype: object, name: string): PropertyDescriptor | undefined {
  for (let of: object | null = prototype; of !== null; of = Object.getPrototypeOf(of)) {
    const found = Object.getOwnPropertyDescriptor(of, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function methodOf(
  target: unknown,
  methodName: unknown,
  descriptor: unknown,
  decorator: string,
): { prototype: object; method: string } {
  const refuse = (name: unknown, what: string): never => {
    const at = typeof target === 'object' ? target?.constructor?.name : undefined;
    const place = at === undefined ? String(name) : `${at}.${String(name)}`;
    throw new DelayConfigError(
      `${place}: ${decorator} belongs on an ordinary method, not on ${what}, which would never be called`,
    );
  };
  if (isStandardContext(methodName)) {
    throw new DelayConfigError(
      `${String(methodName.name)}: ${decorator} was compiled as a standard decorator, and Nest needs ` +
        'legacy ones: set "experimentalDecorators": true and "emitDecoratorMetadata": true in the ' +
        'compilerOptions of the tsconfig.json that compiles this file (of swc: legacyDecorator, ' +
        'decoratorMetadata)',
    );
  }
  if (typeof target === 'function' && methodName === undefined)
    return refuse(target.name, 'a class');
  if (typeof target !== 'object' || target === null) return refuse(methodName, 'a static method');
  if (typeof methodName !== 'string') return refuse(methodName, 'a method named by a symbol');
  if (typeof descriptor === 'number') return refuse(methodName, 'a parameter');
  const given = descriptor ?? Object.getOwnPropertyDescriptor(target, methodName);
  const what = otherThanMethod(given);
  return what === undefined ? { prototype: target, method: methodName } : refuse(methodName, what);
}

/** Undefined: it is a method. */
function otherThanMethod(descriptor: PropertyDescriptor | undefined): string | undefined {
  if (descriptor === undefined) return 'a property';
  const { get, set, value } = descriptor as { get?: unknown; set?: unknown; value?: unknown };
  if (get !== undefined || set !== undefined) return 'a getter or setter';
  if (typeof value !== 'function') return 'a property';
  return isGeneratorFunction(value)
    ? `a${isAsyncFunction(value) ? 'n async' : ''} generator`
    : undefined;
}

/** Standard decorators receive the method itself, and a context that describes it. */
function isStandardContext(context: unknown): context is { name: unknown } {
  return typeof context === 'object' && context !== null && 'kind' in context && 'name' in context;
}

/** A recurring delay, as the code declares it. */
export interface Declaration {
  name: string;
  key: string;
  /** JSON text, as stored. */
  payload: string;
  repeat: DelayRepeat;
}

/** Key of a declaration without one. */
const KEY_DEFAULT = 'repeat';

const OPTIONS = [...REPEAT_OPTIONS, 'key', 'payload'];

/**
 * @returns a promise only if a schema or the codec returns one
 * @throws DelayInvalidError naming the option, or the path where the payload does not match its
 * schema; DelayCodecError; and what the schema throws
 */
export function declarationOf(
  name: unknown,
  options: unknown,
  payloads: Payloads,
): Declaration | Promise<Declaration> {
  const given = checkKnownOptions(options, 'options', OPTIONS);
  const { key = KEY_DEFAULT, payload = null } = given;
  const owner = { name: checkName(name), key: checkKey(key) };
  const json = payloads.jsonOf(payload);
  const repeat = checkRepeat(given);
  const stored = payloads.stored(json, owner);
  if (!(stored instanceof Promise)) return { ...owner, payload: stored, repeat };
  return stored.then((text) => ({ ...owner, payload: text, repeat }));
}
