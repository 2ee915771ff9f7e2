import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { COPIED, packedDocument, packedDocuments } from '../../tools/package/documents.js';
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
  ['Performance', 'docs/performance.md'],
  ['Alternatives', 'docs/classics.md'],
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

describe('the documents of the package', () => {
  const paths = packedDocuments(ROOT);
  const packed = new Map(
    paths.map((path): [string, Document] => [path, { path, text: packedDocument(ROOT, path) }]),
  );

  it('are the README, the changelog and all pages, with the whole of their code and no pictures', () => {
    const lookedUp = ['api', 'guarantees', 'operations', 'testing', 'getting-started'];
    expect(paths).toEqual(
      expect.arrayContaining(['README.md', ...lookedUp.map((page) => `docs/${page}.md`)]),
    );
    for (const [path, document] of packed) {
      expect([path, codeOf(document)]).toEqual([path, codeOf(readDocument(path))]);
      expect(prose(document)).not.toMatch(/!\[/);
    }
  });

  it.each(paths)('%s leads to headings of the package, to its files and to the web', (path) => {
    const targets = all(prose(packed.get(path)!), /\]\(([^)\s]+)\)/g);
    const astray = targets.filter((target) => {
      if (target.startsWith('https:')) return false;
      const [file = '', anchor] = target.split('#');
      const meant = file === '' ? path : posix.join(posix.dirname(path), file);
      if (COPIED.includes(meant)) return false;
      const document = packed.get(meant);
      return (
        document === undefined || (anchor !== undefined && !anchorsOf(document).includes(anchor))
      );
    });
    expect(astray).toEqual([]);
  });

  it('say where the commands are that the package has not', () => {
    const ofClone = [...packed.values()].filter(
      ({ path, text }) => path.startsWith('docs/') && /\bnpm run \w/.test(text),
    );
    expect(ofClone.length).toBeGreaterThan(0);
    expect(ofClone.filter(({ text }) => !/^# .*\n\n_Commands .* of a clone/.test(text))).toEqual(
      [],
    );
  });

  it('are those that the comments of the library name', () => {
    const folder = join(ROOT, 'src/delay-queue');
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(folder, file), 'utf8'));
    const named = sources.flatMap((text) => all(text, /(?<!\/)\bdocs\/[\w./-]*\w/g));
    expect(named.length).toBeGreaterThan(0);
    const unknown = named.filter(
      (name) => !paths.some((path) => path === name || path.startsWith(`${name}-`)),
    );
    expect(unknown).toEqual([]);
  });
});
