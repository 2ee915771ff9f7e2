import { describe, expect, it } from '@jest/globals';
import { packedReadme, packedTranslation } from '../../tools/package/documents.js';
import {
  anchorsOf,
  codeBlocks,
  type Document,
  prose,
  readDocument,
  ROOT,
  tableUnder,
} from './documents.js';

const README = readDocument('README.md');

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([whole, ...groups]) => groups.find(Boolean) ?? whole);

const FIGURES = /\d[\d.,]*\d|\d/g;
const LINKS = /\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)/gm;
const codeOf = (document: Document): string[] =>
  codeBlocks(document, 'ts', 'sh').map(({ code }) => code);

it.each([
  ['Figures', 'docs/performance.md'],
  ['What one does today', 'docs/classics.md'],
])('the figures of the README under "%s" are those of %s', (heading, path) => {
  const rows = tableUnder(README, heading).slice(1);
  const figures = rows.flatMap(([, ...cells]) => cells.flatMap((cell) => all(cell, FIGURES)));
  const known = new Set(all(readDocument(path).text, FIGURES));
  expect(figures.length).toBeGreaterThan(0);
  expect(figures.filter((figure) => !known.has(figure))).toEqual([]);
});

const partsOf = (document: Document) => ({
  levels: all(prose(document), /^#+ /gm),
  // Without their comments, which are in the language of the page.
  code: codeOf(document).map((code) =>
    code.replaceAll(/ *(\/\/|#) .*$/gm, (comment) => (comment.includes('.ts') ? comment : '')),
  ),
  figures: all(prose(document), FIGURES).toSorted(),
  links: all(prose(document), LINKS)
    .filter((target) => !target.startsWith('README'))
    .toSorted(),
});

it('README.zh-CN.md has the headings, the code, the figures and the links of the README', () => {
  expect(partsOf(readDocument('README.zh-CN.md'))).toEqual(partsOf(README));
});

describe('the README of the package', () => {
  const packed: Document = { path: 'README.md', text: packedReadme(ROOT) };
  const translated: Document = { path: 'README.zh-CN.md', text: packedTranslation(ROOT) };
  const anchors = anchorsOf(packed);

  it('has what a user looks up, the whole of the code, and no pictures', () => {
    const lookedUp = ['install', 'methods', 'handlers', 'options', 'errors', 'events'];
    const guaranteed = ['what-is-guaranteed', 'what-is-not-guaranteed'];
    expect(anchors).toEqual(expect.arrayContaining([...lookedUp, ...guaranteed]));
    const taken = ['README.md', 'docs/getting-started.md', 'docs/api.md', 'docs/guarantees.md'];
    expect(codeOf(packed)).toEqual(taken.flatMap((path) => codeOf(readDocument(path))));
    expect(packed.text + translated.text).not.toMatch(/!\[/);
  });

  it('leads to its own headings, to files of the package and to the web', () => {
    expect(new Set(anchors).size).toBe(anchors.length);
    const files = ['LICENSE', 'CHANGELOG.md', 'README.md', 'README.zh-CN.md'];
    const known = new Set([...files, ...anchors.map((anchor) => `#${anchor}`)]);
    const targets = [packed, translated].flatMap((document) =>
      all(prose(document), /\]\(([^)\s]+)\)/g),
    );
    expect(targets.filter((each) => !each.startsWith('https:') && !known.has(each))).toEqual([]);
    expect(targets).toContain('#api');
  });
});
