import { cancelOneSignature, createCancelOne } from './cancel-one.function.js';
import { createScheduleOne, scheduleOneSignature } from './schedule-one.function.js';
import type { Tables } from './schema.js';

/** The functions of one installation, with their arguments. */
export const functionsOf = (tables: Tables): string[] => [
  scheduleOneSignature(tables),
  cancelOneSignature(tables),
];

/** Statements that make them; each may run again. */
export const createFunctions = (tables: Tables): string[] => [
  createScheduleOne(tables),
  createCancelOne(tables),
];
