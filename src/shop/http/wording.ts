import { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

/** Name of each kind of value. */
const KINDS: Partial<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
};

const FORMATS: Partial<Record<string, string>> = {
  datetime: 'a time like 2026-11-20T12:30:00.000Z',
  guid: 'an id like 11111111-2222-4333-8444-555555555555',
  url: 'a URL',
};

/**
 * What zod reports about a value, in words that follow the name of its field: `must be a whole
 * number, not a text`. Schemas with their own message (`{ error: … }`) do not come here.
 */
export function inPlainWords(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongKind(rightKind(issue), issue.input);
    case 'invalid_value':
      return oneOf(issue.values, issue.input);
    case 'invalid_format':
      return `must be ${FORMATS[issue.format] ?? 'written differently'}`;
    case 'too_small':
      return bound(
        issue.origin,
        issue.inclusive === false ? 'more than' : 'at least',
        issue.minimum,
      );
    case 'too_big':
      return bound(
        issue.origin,
        issue.inclusive === false ? 'less than' : 'at most',
        issue.maximum,
      );
    case 'unrecognized_keys':
      return `is not known here${known(issue.inst)}`;
    case 'invalid_union':
      return [...new Set(issue.errors.flat().map(({ message }) => message))].join(', or ');
    default:
      return 'is not usable';
  }
}

/** `z.int()` asks for a number first. */
function rightKind({ expected, inst }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>): string {
  return KINDS[inst instanceof z.ZodNumberFormat ? 'int' : expected] ?? expected;
}

function wrongKind(right: string, input: unknown): string {
  if (input === undefined) return `is missing; must be ${right}`;
  if (typeof input === 'number') return `must be ${right}, not ${input}`;
  return `must be ${right}, not ${input === null ? 'null' : kindOf(input)}`;
}

function oneOf(values: readonly unknown[], input: unknown): string {
  const right = `must be ${values.map((value) => JSON.stringify(value)).join(' or ')}`;
  return input === undefined ? `is missing; ${right}` : right;
}

const kindOf = (input: unknown): string =>
  KINDS[Array.isArray(input) ? 'array' : typeof input] ?? typeof input;

const UNITS: Partial<Record<string, [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
};

function bound(origin: string, least: string, limit: number | bigint): string {
  const unit = UNITS[origin];
  if (!unit) return `must be ${least} ${limit}`;
  return `must have ${least} ${limit} ${unit[Number(limit) === 1 ? 0 : 1]}`;
}

/** The fields that exist. */
const known = (schema: unknown): string =>
  schema instanceof z.ZodObject ? `; there is ${Object.keys(schema.shape).join(', ')}` : '';
