import { StandardSchemaValidationPipe } from '@nestjs/common';
import { ProblemException, type FieldError } from './problem.js';

/** The sender of 5,000 wrong lines learns as much from the first ones. */
const ERRORS_MAX = 20;
/** A field's name may come from the request. */
const FIELD_CHARACTERS_MAX = 100;

/** 400, naming each field and what would be valid: `new InvalidRequest({ field, message })`. */
export class InvalidRequest extends ProblemException {
  constructor(...all: FieldError[]) {
    const errors = all.slice(0, ERRORS_MAX).map(({ field, message }) => ({
      field: field.slice(0, FIELD_CHARACTERS_MAX),
      message,
    }));
    const lines = errors.map(({ field, message }) => `${field}: ${message}`);
    if (all.length > errors.length) lines.push(`and ${all.length - errors.length} more`);
    super('invalid-request', lines.join('; '), { errors });
  }
}

/** The part of zod's issues that is used here. */
interface Issue {
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
  /** Fields that the schema does not have. */
  keys?: readonly string[];
}

/** Validates incoming values against the schema of their parameter. */
export const validationPipe = (): StandardSchemaValidationPipe =>
  new StandardSchemaValidationPipe({
    exceptionFactory: (issues) => new InvalidRequest(...issues.flatMap(errorsOf)),
  });

function errorsOf({ message, path = [], keys = [] }: Issue): FieldError[] {
  const names = path.map((step) => String(typeof step === 'object' ? step.key : step));
  const paths = keys.length === 0 ? [names] : keys.map((key) => [...names, key]);
  // Without a name it is the body: a query is always an object.
  return paths.map((steps) => ({ field: steps.join('.') || 'body', message }));
}
