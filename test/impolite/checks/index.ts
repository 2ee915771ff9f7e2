import type { Client } from 'pg';
import type { Row } from '../journal.js';
import type { Record } from '../record.js';
import { checkCompleted, checkCounted, checkEffects, checkNeverAgain } from './attempts.js';
import { type Check, factsOf } from './facts.js';
import { checkReruns } from './reruns.js';
import { checkVerdicts } from './verdicts.js';
import { checkCommits, checkWrites } from './writes.js';

const CHECKS: readonly Check[] = [
  checkWrites,
  checkCommits,
  checkVerdicts,
  checkEffects,
  checkCompleted,
  checkCounted,
  checkNeverAgain,
  checkReruns,
];

/** Every promise that was broken, one line each. @param rows what is left when all is quiet */
export async function faultsOf(record: Record, client: Client, rows: Row[]): Promise<string[]> {
  const facts = await factsOf(record, client, rows);
  return [...record.faults, ...CHECKS.flatMap((check) => [...check(facts)])];
}
