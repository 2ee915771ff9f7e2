import { adopted } from '../delay/adopted.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import { pathStep } from '../validation/plain-values.js';
import { isOf, readable } from '../validation/blame.js';
import { shown } from '../validation/shown.js';
import { DelayPayloadError, type PayloadIssue } from './payload.errors.js';
import type { PayloadSchema, SchemaIssue } from './payload-schema.js';
import { inTime } from './in-time.js';

/** More of them tell nothing new. */
const ISSUES_MAX = 20;
const MESSAGE_LENGTH_MAX = 200;
/** Payloads are nested no deeper than 64. */
const STEPS_MAX = 100;

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

/** What a schema makes of a value; in an object of ours, so that nothing takes the value itself for a promise. */
export interface Parsed {
  readonly value: unknown;
}

/**
 * @returns a promise only if the schema answers one
 * @throws DelayPayloadError; DelayInvalidError for a result that is none; and what the schema throws
 */
export function parsedBy(schema: PayloadSchema, value: unknown): Parsed | Promise<Parsed> {
  const answer: unknown = schema['~standard'].validate(value);
  const result = inTime(
    read(() => adopted(answer)),
    late,
  );
  return result instanceof Promise ? result.then(parsedOf) : parsedOf(result);
}

function parsedOf(result: unknown): Parsed {
  if (typeof result !== 'object' || result === null) {
    throw new DelayInvalidError('payload', `its schema gave no result, but ${shown(result)}`);
  }
  const issues: unknown = read(() => Reflect.get(result, 'issues'));
  if (issues === undefined) return { value: read(() => Reflect.get(result, 'value')) };
  throw new DelayPayloadError(issuesOf(issues));
}

/** @throws DelayInvalidError: it is the result that cannot be read, not the payload */
function read<Part>(part: () => Part): Part {
  try {
    return part();
  } catch {
    throw new DelayInvalidError('payload', 'its schema gave a result that cannot be read');
  }
}

const late = (why: string): Error => new DelayInvalidError('payload', `its schema ${why}`);

/** Whatever they are: that there are some says that the payload does not fit. */
function issuesOf(issues: unknown): PayloadIssue[] {
  const found: PayloadIssue[] = [];
  try {
    const { length } = issues as readonly SchemaIssue[];
    for (let index = 0; index < length && index < ISSUES_MAX; index++) {
      found.push(issueOf((issues as readonly SchemaIssue[])[index]));
    }
  } catch {
    // Those that could be read say enough.
  }
  return found.length > 0 ? found : [UNREADABLE_ISSUE];
}

const UNREADABLE_ISSUE: PayloadIssue = {
  path: 'payload',
  message: 'does not fit into its schema, and the schema does not say why',
};

function issueOf(issue: SchemaIssue | undefined): PayloadIssue {
  try {
    const { path = [], message } = issue as SchemaIssue;
    const steps = Array.from({ length: Math.min(path.length, STEPS_MAX) }, (_, index) => {
      const step = path[index] as PropertyKey | { readonly key: PropertyKey };
      return pathStep(stepOf(typeof step === 'object' ? step.key : step));
    });
    return { path: `payload${steps.join('')}`, message: textOf(message) };
  } catch {
    return UNREADABLE_ISSUE;
  }
}

const stepOf = (key: PropertyKey): string | number => (typeof key === 'number' ? key : String(key));

const textOf = (message: unknown): string => {
  const text = String(message);
  return text.length > MESSAGE_LENGTH_MAX ? `${text.slice(0, MESSAGE_LENGTH_MAX)}…` : text;
};

/** The same refusal for the caller of `schedule`: nothing of it was written. */
export function asRefusal(error: unknown): unknown {
  if (!isOf(error, DelayPayloadError)) return error;
  const [first, ...others] = error.issues;
  if (first === undefined) return new DelayInvalidError('payload', 'does not fit into its schema');
  const more = others.map(({ path, message }) => `; ${path}: ${message}`).join('');
  return new DelayInvalidError(first.path, first.message + more);
}
