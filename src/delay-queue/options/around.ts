import type { AroundFunction } from '../delay/contexts.js';
import { DelayInvalidError } from '../delay/delay.errors.js';
import { readable } from '../validation/blame.js';
import { isClass, shown } from '../validation/shown.js';

/** Of the module, and as many of a handler. */
const AROUNDS_MAX = 20;

/**
 * One `around`, or a list of them, the first outside.
 *
 * @throws DelayInvalidError naming the item
 */
export function parseAround(value: unknown): AroundFunction[] {
  return readable('around', () => aroundsOf(value));
}

function aroundsOf(value: unknown): AroundFunction[] {
  if (!Array.isArray(value)) return [aroundOf(value, 'around')];
  if (value.length > AROUNDS_MAX) {
    throw new DelayInvalidError('around', `must be at most ${AROUNDS_MAX}, not ${value.length}`);
  }
  return Array.from(value, (item: unknown, index) => aroundOf(item, `around[${index}]`));
}

function aroundOf(value: unknown, field: string): AroundFunction {
  if (typeof value === 'function') {
    if (isClass(value)) {
      throw new DelayInvalidError(
        field,
        'is a class; give an instance of it (forRootAsync can inject one)',
      );
    }
    return value as AroundFunction;
  }
  if (!hasAround(value)) {
    throw new DelayInvalidError(
      field,
      `must be a function, or an object with a method around, not ${shown(value)}`,
    );
  }
  // Looked up at each call, so that a spy or a patch of the method takes effect.
  return (call, next) => value.around(call, next);
}

const hasAround = (value: unknown): value is { around: AroundFunction } =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'around') === 'function';
