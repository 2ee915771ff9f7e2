import { DelayInvalidError } from '../api/errors.js';
import type { ValueCheck } from './checks.js';
import { readable } from './refusals.js';
import { builtInKind, cut, shown } from './shown.js';

/** How one option is read: its check, or that and what stands for it when it is left out. */
export type OptionReader<Value> =
  | ValueCheck<Value>
  | readonly [check: ValueCheck<Value>, byDefault: unknown];

/** All options of an object, in the order in which a refusal lists them. */
export type OptionTable = Readonly<Record<string, OptionReader<unknown>>>;

type Read<Reader> = Reader extends OptionReader<infer Value> ? Value : never;

/** What {@link parseByTable} makes of a table: an option without a default may be missing. */
export type Parsed<Table> = {
  -readonly [Name in keyof Table as Table[Name] extends readonly unknown[] ? Name : never]: Read<
    Table[Name]
  >;
} & {
  -readonly [Name in keyof Table as Table[Name] extends readonly unknown[] ? never : Name]?: Read<
    Table[Name]
  >;
};

/**
 * Reads an object of options by its table. Unknown names are refused: ignoring a misspelled option
 * would run production with the default.
 * @param field name of the object in messages; options of a call have no prefix
 * @throws DelayInvalidError naming the option; an unknown one gets a suggestion
 */
export function parseByTable<const Table extends OptionTable>(
  options: unknown,
  field: string,
  table: Table,
): Parsed<Table> {
  const names = Object.keys(table);
  const given = checkKnownOptions(options, field, names);
  const prefix = field === 'options' ? '' : `${field}.`;
  for (const name of names) {
    const reader = table[name] as OptionReader<unknown>;
    const [check, byDefault] = typeof reader === 'function' ? [reader, undefined] : reader;
    const value = given[name] === undefined ? byDefault : given[name];
    if (value !== undefined) given[name] = check(value, `${prefix}${name}`);
  }
  return given as Parsed<Table>;
}

/**
 * The given options, each read once. Unknown names are refused.
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
    const record = toRecord(options, field);
    refuseUnknown(record, field, known);
    return readOwn(record, field, known);
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
  return readable(field, () => readOwn(toRecord(options, field), field, names));
}

/**
 * Options whose keys are names of delays.
 * @throws DelayInvalidError
 */
export const optionsByName = (options: unknown, field: string): [string, unknown][] =>
  readable(field, () =>
    Object.entries(toRecord(options, field)).filter(([, value]) => value !== undefined),
  );

/**
 * Reads own properties only, into an object without a prototype: what a package adds to
 * `Object.prototype` is not an option. A loop, because `scheduleMany` reads ten thousand of them.
 */
function readOwn(
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
function toRecord(value: unknown, field: string): Record<string, unknown> {
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
