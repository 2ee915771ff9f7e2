import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { stageOfEach } from '../../integration/engine/support/stage-of-each.js';
import { NAMES, play } from './application.js';
import { Journal } from './journal.js';
import { programs } from './program.js';

const RUNS = Number(process.env['LIFE_RUNS'] ?? 12);
const SEED = process.env['LIFE_SEED'];

/** More than any program begins. */
const OF_EACH_NAME = 60;

// By force: an application whose bootstrap failed leaves connections behind.
const stage = stageOfEach({ force: true });

interface Row {
  id: string;
  attempts: number;
  dead: boolean;
  leased_by: string | null;
}

/** What must not be in the table after the end. */
async function faultsLeft({ failedBefore }: Journal): Promise<string[]> {
  const rows = await stage.sql<Row>(
    `SELECT id::text, attempts, wake_at = 'infinity' AS dead, leased_by FROM delay_queue.delay`,
  );
  return rows.flatMap(({ id, attempts, dead, leased_by }) => {
    const failed = failedBefore.get(id) ?? 0;
    return [
      ...(attempts > failed ? [`${id} lost an attempt to the end`] : []),
      ...(dead && failed === 0 ? [`${id} is a dead letter`] : []),
      ...(leased_by === null ? [] : [`${id} is still leased`]),
    ];
  });
}

it('wherever the queue stands, however others begin and end: nothing runs too early or too late, and the end costs no attempt', async () => {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      await stage.truncate('delay', 'history');
      for (const name of NAMES) await stage.overdue(name, OF_EACH_NAME);
      const journal = new Journal();
      const hasStarted = await play(program, journal, stage.url);
      const begun = journal.begun;
      const faults = [...journal.faults, ...(await faultsLeft(journal))];
      if (!hasStarted && begun > 0) faults.push('a call began although the start failed');
      expect(faults).toEqual([]);
      expect(journal.begun).toBe(begun);
    }),
    { numRuns: RUNS, endOnFailure: true, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
  );
}, 300_000);
