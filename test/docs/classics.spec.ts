import { beforeAll, expect, it } from '@jest/globals';
import { calculations } from '../../docs/classics/arithmetic.js';
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
const NOTHING: Outcome = { closedThoughPaid: 0, lost: 0, double: 0, lateMs: 0 };

const outcomes = new Map<DesignName | 'guarded scan', Outcomes>();

async function run(design: DesignName, guarded = false): Promise<void> {
  const database = await createEmptyDatabase();
  try {
    const ended = await runFaults({ design, url: database.url, guarded });
    outcomes.set(guarded ? 'guarded scan' : design, ended);
  } finally {
    await database.drop({ force: true });
  }
}

beforeAll(async () => {
  // Also when one has failed the others go on to their ends: they have processes of their own to stop.
  const runs = [run('scan', true), ...designNames.map((design) => run(design))];
  for (const end of await Promise.allSettled(runs)) {
    if (end.status === 'rejected') throw end.reason;
  }
}, LONG_MS);

const showsOf = (design: DesignName): Shows => DESIGNS[design].shows;

it.each(designNames)('%s shows what its page says, and nothing else', (design) => {
  for (const fault of FAULTS) {
    const { lateMs, ...counts } = outcomes.get(design)![fault];
    const { lateMs: atLeastMs = -Infinity, ...promised } = showsOf(design)[fault] ?? {};
    expect({ ...NOTHING, ...counts, fault }).toEqual({ ...NOTHING, ...promised, fault });
    // That it is late is certain; by how much is the machine's affair.
    expect({ fault, isLate: lateMs > atLeastMs }).toEqual({ fault, isLate: true });
  }
});

it('the classic designs lose less behind a guard: a scan is late and nothing else', () => {
  const wrong = Object.values(outcomes.get('guarded scan')!).map((each) => ({
    ...each,
    lateMs: 0,
  }));
  expect(wrong).toEqual(FAULTS.map(() => NOTHING));
});

it('the classic designs fire at the wrong time by their own clock, nothing else going wrong', () => {
  const right = calculations().filter(({ askedS, firedS }) => Math.abs(askedS - firedS) <= 1);
  expect([right, calculations().length > 0]).toEqual([[], true]);
});

/** All that a design promises to show, in the words of the page. */
const WORDS: [key: keyof Outcome, word: string][] = [
  ['closedThoughPaid', 'closed though paid'],
  ['lost', 'lost'],
  ['double', 'double'],
  ['lateMs', 'late'],
];

it('docs/classics.md says of each design and fault what is certain, and of lateness perhaps more', () => {
  const [[, ...faults] = [], ...rows] = tableUnder(readDocument('docs/classics.md'), 'Results');
  expect(faults).toEqual(FAULTS);
  const said = rows.map(([title, ...cells]) => [
    title,
    ...cells.map((cell) => cell.replaceAll(/\d+ |[\d.]+ s /g, '').split(', ')),
  ]);
  const certain = designNames.map((design) => [
    DESIGNS[design].title,
    ...FAULTS.map((fault, column) => {
      const shown = showsOf(design)[fault] ?? {};
      const words = WORDS.filter(([key]) => shown[key]).map(([, word]) => word);
      const row = rows.find(([title]) => title === DESIGNS[design].title);
      const isLate = row?.[column + 1]?.endsWith(' late') && !words.includes('late');
      if (isLate) words.push('late');
      return words.length > 0 ? words : ['–'];
    }),
  ]);
  expect(said).toEqual(certain);
});
