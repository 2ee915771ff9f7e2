import { adopted } from '../api/adopted.js';
import { DelayInvalidError, DelayPayloadError, type PayloadIssue } from '../api/errors.js';
import type { PayloadSchema, SchemaIssue } from '../api/options.js';
import { LATE, within } from '../tasks/signal.js';
import { pathStep } from './payload-encoder.js';
import { isInstance, readable } from './refusals.js';
import { shown } from './shown.js';

/** Further issues add nothing. */
const ISSUES_MAX = 20;
const MESSAGE_LENGTH_MAX = 200;
/** Payloads are nested at most 64 levels. */
const STEPS_MAX = 100;

/** @throws DelayInvalidError */
export function checkSchemaOption(value: unknown, field: string): PayloadSchema {
  if (readable(field, () => isSchema(value))) return value as PayloadSchema;
  throw new DelayInvalidError(
    field,
    `must be a schema of Standard Schema v1, as Zod, Valibot or ArkType make them, not ${shown(value)}`,
  );
}

/** Some libraries use functions. */
function isSchema(value: unknown): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = Reflect.get(value, '~standard');
  if (typeof standard !== 'object' || standard === null) return false;
  return (
    Reflect.get(standard, 'version') === 1 &&
    typeof Reflect.get(standard, 'validate') === 'function'
  );
}

/** Result of a schema, wrapped: nothing may take the value itself for a promise. */
interface ParsedValue {
  readonly value: unknown;
}

/**
 * @returns a promise only if the schema returns one
 * @throws DelayPayloadError; DelayInvalidError for an invalid result; and what the schema throws
 */
export function parsedBy(
  schema: PayloadSchema,
  value: unknown,
): ParsedValue | Promise<ParsedValue> {
  const answer: unknown = schema['~standard'].validate(value);
  const result = inTime(
    readPart(() => adopted(answer)),
    lateSchema,
  );
  return result instanceof Promise ? result.then(parsedOf) : parsedOf(result);
}

function parsedOf(result: unknown): ParsedValue {
  if (typeof result !== 'object' || result === null) {
    throw new DelayInvalidError('payload', `its schema gave no result, but ${shown(result)}`);
  }
  const issues: unknown = readPart(() => Reflect.get(result, 'issues'));
  if (issues === undefined) return { value: readPart(() => Reflect.get(result, 'value')) };
  throw new DelayPayloadError(issuesOf(issues));
}

/** @throws DelayInvalidError: the result is unreadable, not the payload */
function readPart<Part>(part: () => Part): Part {
  try {
    return part();
  } catch {
    throw new DelayInvalidError('payload', 'its schema gave a result that cannot be read');
  }
}

const lateSchema = (why: string): Error => new DelayInvalidError('payload', `its schema ${why}`);

/** Any issue, even an unreadable one, means that the payload does not match. */
function issuesOf(issues: unknown): PayloadIssue[] {
  const found: PayloadIssue[] = [];
  try {
    const { length } = issues as readonly SchemaIssue[];
    for (let index = 0; index < length && index < ISSUES_MAX; index++) {
      found.push(issueOf((issues as readonly SchemaIssue[])[index]));
    }
  } catch {
    // The issues read so far are enough.
  }
  return found.length > 0 ? found : [UNREADABLE_ISSUE];
}

const UNREADABLE_ISSUE: PayloadIssue = {
  path: 'payload',
  message: 'does not match its schema, which gives no reason',
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

/** The same refusal for a caller of `schedule`, where nothing was written. */
export function asRefusal(error: unknown): unknown {
  if (!isInstance(error, DelayPayloadError)) return error;
  const [first, ...others] = error.issues;
  if (first === undefined) return new DelayInvalidError('payload', 'does not match its schema');
  const more = others.map(({ path, message }) => `; ${path}: ${message}`).join('');
  return new DelayInvalidError(first.path, first.message + more);
}

/** A codec or schema that does not answer holds its call no longer than this. */
const ANSWERS_WITHIN_MS = 30_000;

/**
 * @param answer result of a codec or schema, adopted
 * @param late makes the error after that time
 * @returns the same result
 */
export function inTime<Answer>(
  answer: Answer | Promise<Answer>,
  late: (why: string) => Error,
): Answer | Promise<Answer> {
  return answer instanceof Promise ? answeredInTime(answer, late) : answer;
}

async function answeredInTime<Answer>(
  answer: Promise<Answer>,
  late: (why: string) => Error,
): Promise<Answer> {
  const value = await within(answer, ANSWERS_WITHIN_MS, { ref: false });
  if (value !== LATE) return value;
  throw late(`did not answer within ${ANSWERS_WITHIN_MS} ms`);
}

/** What schemas offer beside `validate`: see Standard JSON Schema at https://standardschema.dev. */
interface WithJsonSchema {
  jsonSchema?: { input?: (options: { target: string }) => unknown };
}

/** JSON Schema of what goes in; undefined if the schema offers none, or cannot say it. */
export function jsonSchemaOf(schema: PayloadSchema): object | undefined {
  try {
    const standard = schema['~standard'] as object as WithJsonSchema;
    const found: unknown = standard.jsonSchema?.input?.({ target: 'draft-2020-12' });
    const copy: unknown = found === undefined ? undefined : JSON.parse(JSON.stringify(found));
    return typeof copy === 'object' && copy !== null ? copy : undefined;
  } catch {
    // One that cannot be written as JSON Schema, such as a transformation.
    return undefined;
  }
}
