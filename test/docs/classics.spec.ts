import { beforeAll, describe, expect, it } from '@jest/globals';
import { reckonings } from '../../docs/classics/arithmetic.js';
import {
  DESIGNS,
  designNames,
  FAULTS,
  type DesignName,
  type Outcome,
  type Shows,
} from '../../docs/classics/designs.js';
import { runFaults, type Outcomes } from '../../docs/classics/faults.js';
import { createEmptyDatabase } from '../support/database.js';
import { readDocument, tableUnder } from './documents.js';

const LONG_MS = 240_000;
const CLASSICS = readDocument('docs/classics.md');

/** All that a design promises to show, in the words of the page. */
const WORDS: Record<keyof Outcome, string> = {
  closedThoughPaid: 'closed though paid',
  lost: 'lost',
  double: 'double',
  lateMs: 'late',
};

const outcomes = new Map<DesignName, Outcomes>();
let guardedScan: Outcomes;

async function run(design: DesignName, guarded: boolean): Promise<Outcomes> {
  const database = await createEmptyDatabase();
  try {
    return await runFaults({ design, url: database.url, guarded });
  } finally {
    await database.drop({ force: true });
  }
}

beforeAll(async () => {
  const guarded = run('scan', true).then((ended) => (guardedScan = ended));
  const runs = designNames.map(async (design) => outcomes.set(design, await run(design, false)));
  // Also when one has failed the others go on to their ends: they have processes of their own to stop.
  const ends = await Promise.allSettled([guarded, ...runs]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}, LONG_MS);

const cases = designNames.flatMap((design) => FAULTS.map((fault) => ({ design, fault })));

describe('the classic designs', () => {
  it.each(cases)('$design, $fault: shows what its page says', ({ design, fault }) => {
    const { shows }: { shows: Shows } = DESIGNS[design];
    const { lateMs, ...counts } = outcomes.get(design)![fault];
    const { lateMs: atLeastMs = -Infinity, ...promised } = shows[fault] ?? {};
    expect(counts).toEqual({ closedThoughPaid: 0, lost: 0, double: 0, ...promised });
    // That it is late is certain; by how much is the machine's affair.
    expect(lateMs).toBeGreaterThan(atLeastMs);
  });

  it('lose less behind a guard: a scan is late and nothing else', () => {
    const wrong = Object.values(guardedScan).map((each) => ({ ...each, lateMs: 0 }));
    const nothing: Outcome = { closedThoughPaid: 0, lost: 0, double: 0, lateMs: 0 };
    expect(wrong).toEqual(FAULTS.map(() => nothing));
  });

  it('fire at the wrong time by their own clock, nothing else going wrong', () => {
    const wrong = reckonings().filter(({ askedS, firedS }) => Math.abs(askedS - firedS) > 1);
    expect(wrong).toEqual(reckonings());
  });
});

describe('ours', () => {
  it('closes nothing that is paid, loses nothing and does nothing twice', () => {
    const all = Object.values(outcomes.get('ours')!);
    const faults = all.map(({ closedThoughPaid, lost, double }) => [
      closedThoughPaid,
      lost,
      double,
    ]);
    expect(faults).toEqual(FAULTS.map(() => [0, 0, 0]));
  });
});

describe('docs/classics.md', () => {
  it('says of each design and fault what is certain, and nothing more', () => {
    const [header = [], ...rows] = tableUnder(CLASSICS, 'What it costs');
    const said = Object.fromEntries(
      rows.map(([title = '', ...cells]) => [
        title,
        cells.map((cell) => cell.replaceAll(/\d+ |[\d.]+ s /g, '').split(', ')),
      ]),
    );
    const certain = designNames.map((name) => {
      const { title, shows }: { title: string; shows: Shows } = DESIGNS[name];
      return { title, cells: FAULTS.map((fault) => wordsOf(shows[fault] ?? {})) };
    });
    expect(header.slice(1)).toEqual(FAULTS);
    for (const { title, cells } of certain) {
      for (const [column, words] of cells.entries()) {
        const withoutLate = said[title]![column]!.filter((word) => !['late', '–'].includes(word));
        expect({ title, column, words: withoutLate }).toEqual({
          title,
          column,
          words: words.filter((word) => word !== 'late'),
        });
        expect(said[title]![column]).toEqual(expect.arrayContaining(words));
      }
    }
  });
});

const wordsOf = (shows: Partial<Outcome>): string[] =>
  (Object.keys(WORDS) as (keyof Outcome)[]).filter((key) => shows[key]).map((key) => WORDS[key]);
