import { DelayInvalidError } from '../delay/delay.errors.js';
import { pathStep } from '../validation/plain-values.js';
import { readable } from '../validation/blame.js';
import { shown } from '../validation/shown.js';
import { DelayPayloadError, type PayloadIssue } from './payload.errors.js';
import type { PayloadSchema, SchemaIssue, SchemaResult } from './payload-schema.js';

/** More of them tell nothing new. */
const ISSUES_MAX = 20;
const MESSAGE_LENGTH_MAX = 200;

/** @throws DelayInvalidError */
export function checkSchemaOption(value: unknown, field: string): PayloadSchema {
  if (readable(field, () => isSchema(value))) return value as PayloadSchema;
  throw new DelayInvalidError(
    field,
    `must be a schema of Standard Schema v1, as Zod, Valibot or ArkType make them, not ${shown(value)}`,
  );
}

/** Some libraries make functions of them. */
function isSchema(value: unknown): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = Reflect.get(value, '~standard');
  if (typeof standard !== 'object' || standard === null) return false;
  return (
    Reflect.get(standard, 'version') === 1 &&
    typeof Reflect.get(standard, 'validate') === 'function'
  );
}

/**
 * @returns what the schema makes of the value; a promise only if the schema answers one
 * @throws DelayPayloadError, and what the schema throws
 */
export function parsedBy(schema: PayloadSchema, value: unknown): unknown {
  const result = schema['~standard'].validate(value);
  return isPromise(result) ? result.then(valueOf) : valueOf(result);
}

function valueOf(result: SchemaResult<unknown> | null | undefined): unknown {
  if (typeof result !== 'object' || result === null) {
    throw new DelayInvalidError('payload', `its schema gave no result, but ${shown(result)}`);
  }
  if (result.issues === undefined) return result.value;
  throw new DelayPayloadError(result.issues.slice(0, ISSUES_MAX).map(issueOf));
}

function issueOf({ path = [], message }: SchemaIssue): PayloadIssue {
  const steps = path.map((step) => pathStep(stepOf(typeof step === 'object' ? step.key : step)));
  return { path: `payload${steps.join('')}`, message: textOf(message) };
}

const stepOf = (key: PropertyKey): string | number => (typeof key === 'symbol' ? String(key) : key);

const textOf = (message: unknown): string => {
  const text = String(message);
  return text.length > MESSAGE_LENGTH_MAX ? `${text.slice(0, MESSAGE_LENGTH_MAX)}…` : text;
};

/** The same refusal for whoever schedules: nothing of it was written. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof DelayPayloadError)) return error;
  const [first, ...others] = error.issues;
  if (first === undefined) return new DelayInvalidError('payload', 'does not fit into its schema');
  const more = others.map(({ path, message }) => `; ${path}: ${message}`).join('');
  return new DelayInvalidError(first.path, first.message + more);
}

/** By shape: another realm has a `Promise` of its own. */
export const isPromise = <T>(value: T | Promise<T>): value is Promise<T> =>
  typeof value === 'object' &&
  value !== null &&
  'then' in value &&
  typeof value.then === 'function';
