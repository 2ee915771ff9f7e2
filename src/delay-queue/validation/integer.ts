import { DelayInvalidError } from '../delay/delay.errors.js';
import { shown } from './shown.js';

/** @throws DelayInvalidError unless `value` is a whole number from `min` to `max` */
export function checkInteger(value: unknown, field: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value;
  }
  throw new DelayInvalidError(
    field,
    `must be a whole number from ${min} to ${max}, not ${shown(value)}`,
  );
}
