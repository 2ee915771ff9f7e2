import { describe, expect, it } from '@jest/globals';
import { ALL } from '../chaos/checker/invariants/index.js';
import { FAULTS } from '../chaos/faults/faults.js';
import { prose, readDocument, section, tableUnder } from './documents.js';

const RELIABILITY = readDocument('docs/reliability.md');
const GUARANTEES = readDocument('docs/guarantees.md');

describe('docs/reliability.md', () => {
  it('has a test for each guarantee, in its words', () => {
    const promises = [
      ...section(GUARANTEES, 'What is guaranteed').matchAll(/^- \*\*([^*]+?)\.?\*\*/gm),
    ];
    const listed = tableUnder(RELIABILITY, 'The promises').slice(1);
    expect(listed.map(([promise]) => promise)).toEqual(promises.map(([, promise]) => promise));
    expect(listed.filter(([, tests]) => !tests?.includes('.spec.ts'))).toEqual([]);
  });

  it('names every fault of the chaos run, and no other', () => {
    const named = [...prose(RELIABILITY).matchAll(/chaos `([\w-]+)`/g)].map(
      ([, kind = '']) => kind,
    );
    expect([...new Set(named)].toSorted()).toEqual(FAULTS.map(({ kind }) => kind).toSorted());
  });

  it('lists the invariants in the words of the checker', () => {
    const rows = tableUnder(RELIABILITY, 'The invariants').slice(1);
    expect(rows).toEqual(ALL.map(({ number, title }) => [String(number), title]));
  });

  it('has a proof for everything that goes wrong', () => {
    const rows = tableUnder(RELIABILITY, 'What goes wrong').slice(1);
    expect(rows.length).toBeGreaterThan(50);
    const unproven = rows.filter(([, , proof]) => !/\.spec\.ts\)|chaos `/.test(proof ?? ''));
    expect(unproven).toEqual([]);
  });
});
