import {
  isAnyArrayBuffer,
  isDate,
  isMap,
  isNativeError,
  isPromise,
  isRegExp,
  isSet,
} from 'node:util/types';
import { printable, quoted } from '../api/error-text.js';
import { DelayConfigError, DelayInvalidError } from '../api/errors.js';

/**
 * Runs a check of one part and adds the part to its error: `key` becomes `items[3].key`.
 * @throws DelayInvalidError
 */
export function blamedOn<T>(part: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new DelayInvalidError(`${part}.${error.field}`, error.why);
  }
}

/**
 * Runs a check of a value in code or configuration. A refused value stops the start.
 * @param where the owner of the configuration: `DelayQueueModule`, `OrderTimers.close`
 * @throws DelayConfigError `<where>: <field>: <why>`
 */
export function atStart<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new DelayConfigError(`${where}: ${error.message}`);
  }
}

/**
 * Reads a caller's object, whose getters and proxies may throw anything. The message does not
 * repeat what they threw: it may hold private data.
 * @throws DelayInvalidError of that field
 */
export function readable<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw isRefusal(error) ? error : new DelayInvalidError(field, UNREADABLE);
  }
}

export const UNREADABLE = 'cannot be read: a getter or proxy throws';

export const isRefusal = (error: unknown): error is DelayInvalidError =>
  isOf(error, DelayInvalidError);

/** `instanceof` itself throws if the thrown value is a revoked proxy. */
export function isOf<Thrown extends Error>(
  error: unknown,
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever it is made of
  type: new (...parts: any[]) => Thrown,
): error is Thrown {
  try {
    return error instanceof type;
  } catch {
    return false;
  }
}

export const SHOWN_LENGTH_MAX = 40;

/** A refused value, short enough for a message. Objects are named by kind only. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > SHOWN_LENGTH_MAX
        ? `a text of ${value.length} characters`
        : quoted(value);
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'object':
      return value === null ? 'null' : kindOf(value);
    default:
      return isClass(value) ? 'a class' : `a ${typeof value}`;
  }
}

/** The beginning of a foreign name. */
export const cut = (name: string): string => printable(name, SHOWN_LENGTH_MAX);

function kindOf(value: object): string {
  try {
    return Array.isArray(value) ? 'an array' : (builtInKind(value) ?? 'an object');
  } catch {
    return 'a revoked proxy';
  }
}

/** Tested by internal slots: an object may come from another realm. Proxies do not match. */
const BUILT_IN: readonly [kind: string, isOfIt: (value: unknown) => boolean][] = [
  ['a Promise', isPromise],
  ['a Date', isDate],
  ['a Map', isMap],
  ['a Set', isSet],
  ['a RegExp', isRegExp],
  ['an Error', isNativeError],
  ['binary data', (value) => ArrayBuffer.isView(value) || isAnyArrayBuffer(value)],
];

/** The kind of an object that cannot be options, like `a Promise`; undefined for all others. */
export const builtInKind = (value: object): string | undefined =>
  Object.getPrototypeOf(value) === Object.prototype
    ? undefined
    : BUILT_IN.find(([, isOfIt]) => isOfIt(value))?.[0];

/** Calling a class throws, but only at the call. */
export const isClass = (value: unknown): boolean =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

/**
 * The given options, each read once. Unknown names are refused: ignoring a misspelled option would
 * run production with the default.
 * @param field name of the object in messages
 * @returns a copy without `undefined` values
 * @throws DelayInvalidError naming the unknown option, with the nearest known one
 */
export function checkKnownOptions(
  options: unknown,
  field: string,
  known: readonly string[],
): Record<string, unknown> {
  return readable(field, () => {
    const record = recordOf(options, field);
    refuseUnknown(record, field, known);
    return givenOf(record, field, known);
  });
}

/**
 * Some of the given options, each read once; others are ignored.
 * @returns a copy without `undefined` values
 * @throws DelayInvalidError if the value cannot be options
 */
export function readOptions(
  options: unknown,
  field: string,
  names: readonly string[],
): Record<string, unknown> {
  return readable(field, () => givenOf(recordOf(options, field), field, names));
}

/**
 * Options whose keys are names of delays.
 * @throws DelayInvalidError
 */
export const optionsByName = (options: unknown, field: string): [string, unknown][] =>
  readable(field, () =>
    Object.entries(recordOf(options, field)).filter(([, value]) => value !== undefined),
  );

/**
 * Reads own properties only, into an object without a prototype: what a package adds to
 * `Object.prototype` is not an option. A loop, because `scheduleMany` reads ten thousand of them.
 */
function givenOf(
  record: Record<string, unknown>,
  field: string,
  names: readonly string[],
): Record<string, unknown> {
  const given = Object.create(null) as Record<string, unknown>;
  for (const name of names) {
    const value = ownOption(record, name, field);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

/**
 * One own option.
 * @param field name of the object in messages
 * @throws DelayInvalidError for an inherited option, which would be ignored silently
 */
export function ownOption<Options extends object, Name extends keyof Options & string>(
  options: Options,
  name: Name,
  field: string,
): Options[Name] | undefined {
  // Read first: a proxy that throws must do so here.
  const value = options[name];
  if (value === undefined || Object.hasOwn(options, name)) return value;
  if (name in Object.prototype) return undefined;
  throw new DelayInvalidError(
    `${field}.${name}`,
    'is inherited from a prototype, and options are read from the object itself: give a plain object',
  );
}

function refuseUnknown(options: object, field: string, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new DelayInvalidError(`${field}.${cut(name)}`, hintFor(name, field, known));
  }
}

/** What other queues call our options: in lower case, without separators. */
const CALLED_ELSEWHERE = new Map(
  Object.entries({
    after: 'delay delayms delayseconds startafter runin in wait',
    at: 'runat startat scheduledat scheduledfor scheduledtime dueat eta date',
    key: 'jobid jobkey singletonkey uniquekey dedupekey deduplicationid messageid id',
    maxAttempts: 'attempts retries retrylimit maxretries tries',
    group: 'groupid queuename tenant tenantid partitionkey',
    headers: 'meta metadata tags',
    repeat: 'cron every pattern interval',
    manager: 'transaction entitymanager queryrunner',
    tx: 'trx db client',
  }).flatMap(([ours, theirs]) => theirs.split(' ').map((name) => [name, ours] as const)),
);

/** What callers look for in a call, and where it is. */
const IN_THE_CALL: Readonly<Record<string, string>> = {
  priority: 'does not exist: the delay that is due first runs first, and groups take turns',
  backoff: 'belongs to the handler: @OnDelay(name, { backoff })',
  timeout: 'belongs to the handler: @OnDelay(name, { timeout })',
  concurrency: 'belongs to the handler: @OnDelay(name, { concurrency })',
  by: 'is only for calls that change a delay, as in cancel(name, key, { by })',
};

const ENDLESS =
  'is only for `repeat` of a `schedule`: each start declares this delay again, so it cannot end';

function hintFor(name: string, field: string, known: readonly string[]): string {
  if (field === 'to' && (name === 'by' || name === 'manager' || name === 'tx')) {
    return `goes in the argument behind the time: { ${name} }`;
  }
  if (known.includes('maxWait') && Object.hasOwn(IN_THE_CALL, name)) {
    return IN_THE_CALL[name] as string;
  }
  if (known.includes('catchUp') && (name === 'until' || name === 'limit')) return ENDLESS;
  const ours = CALLED_ELSEWHERE.get(name.replace(/[_-]/g, '').toLowerCase());
  const suggestion = ours !== undefined && known.includes(ours) ? ours : nearest(name, known);
  return suggestion === undefined
    ? `is not an option; there are ${known.join(', ')}`
    : `is not an option; did you mean ${suggestion}?`;
}

/** A promise, a Date or a Map has none of the options, and would count as all defaults. */
function recordOf(value: unknown, field: string): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject && builtInKind(value) === undefined) return value as Record<string, unknown>;
  throw new DelayInvalidError(field, `must be an object, not ${shown(value)}`);
}

/** Longer names are cut, because the cost is the product of both lengths. */
const COMPARED_LENGTH_MAX = 40;

/** @returns the one that was probably meant, if any is so close */
export function nearest<Known extends string>(
  name: string,
  known: readonly Known[],
  distanceMax = Math.max(2, Math.floor(Math.min(name.length, COMPARED_LENGTH_MAX) / 3)),
): Known | undefined {
  const wanted = name.slice(0, COMPARED_LENGTH_MAX).toLowerCase();
  return known
    .map((option) => ({ option, distance: editDistance(wanted, option.toLowerCase()) }))
    .filter(({ distance }) => distance <= distanceMax)
    .toSorted((a, b) => a.distance - b.distance)[0]?.option;
}

/** Levenshtein, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [line, letter] of from.split('').entries()) {
    const next = [line + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

/** Length of a key in a path. */
const STEP_LENGTH_MAX = 40;

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** `Array.prototype` is itself an array; the prototype of a subclass is not. */
export function isPlainArray(value: object): value is unknown[] {
  return Array.isArray(value) && Array.isArray(Object.getPrototypeOf(value));
}

/** By shape, not identity: objects of `structuredClone` and `vm` have another realm's prototype. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return (
    typeof prototype === 'object' &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'isPrototypeOf')
  );
}

/** Why a value is neither, and what to send instead. */
export function notPlain(value: object): string {
  if (isDate(value)) return 'is a Date; send date.toISOString()';
  if (isMap(value)) return 'is a Map; send Object.fromEntries(map)';
  if (isSet(value)) return 'is a Set; send [...set]';
  if (isPromise(value)) return 'is a Promise; await it first';
  if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) {
    return 'is binary data; send it as base64 text';
  }
  const name: unknown = Reflect.get(value, 'constructor')?.name;
  const kind = typeof name === 'string' && name !== '' ? name : 'some class';
  return `is an instance of ${cut(kind)}; send a plain object`;
}

/** One step of a path: `.orderId`, `["a b"]`, `[0]`. */
export function pathStep(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  if (step.length <= STEP_LENGTH_MAX && IDENTIFIER.test(step)) return `.${step}`;
  return `[${quoted(step, STEP_LENGTH_MAX)}]`;
}

/** Length of a number as `jsonb` writes it: 326 characters for `5e-324`. `e+` is refused before. */
export function writtenOut(text: string): number {
  if (!text.includes('e-')) return text.length;
  const [mantissa = '', exponent = ''] = text.split('e-');
  const sign = mantissa.startsWith('-') ? 1 : 0;
  const digits = mantissa.replace(/\D/g, '').length;
  return sign + '0.'.length + Number(exponent) - 1 + digits;
}
