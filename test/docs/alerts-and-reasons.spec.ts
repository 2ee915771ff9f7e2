import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { anchorOf, coded, readDocument, ROOT, tableUnder } from './documents.js';

const PAGE = readDocument('docs/operations.md');

/** The reasons that a type of the library has, by the fields that all of them share. */
const reasonsIn = (file: string, fields: string): string[] => {
  const source = readFileSync(join(ROOT, 'src/delay-queue/core/api', file), 'utf8');
  return [...source.matchAll(new RegExp(`\\b${fields}<'(\\w+)'>`, 'g'))].map(
    ([, name = '']) => name,
  );
};

const rowsUnder = (heading: string): string[] =>
  tableUnder(PAGE, heading)
    .slice(1)
    .map(([cell]) => coded(cell));

it('operations says of each reason of explain what to do, and of no other', () => {
  const reasons = reasonsIn('explanation.ts', 'CauseFields').filter((name) => name !== 'reason');
  expect(reasons.length).toBeGreaterThan(10);
  expect(rowsUnder('Orders close late').toSorted()).toEqual([...new Set(reasons)].toSorted());
});

it('each alert leads to a chapter that names it', () => {
  const rules = readFileSync(join(ROOT, 'docs/operations/alerts.yaml'), 'utf8');
  const alerts = [
    ...rules.matchAll(/alert: (\w+)[\s\S]*?runbook: docs\/operations\.md#([\w-]+)$/gm),
  ];
  expect(alerts).toHaveLength([...rules.matchAll(/alert: /g)].length);
  const chapters = new Map(
    PAGE.text
      .split(/^### /m)
      .map((chapter) => [anchorOf(chapter.split('\n', 1)[0] ?? ''), chapter]),
  );
  const unnamed = alerts.filter(
    ([, alert = '', anchor = '']) => chapters.get(anchor)?.includes(`\`${alert}\``) !== true,
  );
  expect(unnamed.map(([, alert]) => alert)).toEqual([]);
});

it('operations says of each reason of DelayHealth what to do', () => {
  const reasons = reasonsIn('health.ts', 'ReasonFields');
  expect(reasons.length).toBeGreaterThan(10);
  expect(rowsUnder('Health')).toEqual(expect.arrayContaining(reasons));
});
