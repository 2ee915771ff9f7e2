import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeBlocks, prose, readDocument, ROOT } from '../documents.js';

const filesIn = (folder: string): string[] => readdirSync(join(ROOT, folder));
const pages = filesIn('docs/recipes').filter((file) => file !== 'README.md');

it('every recipe is in the index, once', () => {
  const index = readDocument('docs/recipes/README.md');
  const listed = [...prose(index).matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page = '']) => page);
  expect(listed.toSorted()).toEqual(pages.toSorted());
});

it('every recipe has code, and a test that runs all of it', () => {
  const specs = filesIn('test/docs/recipes')
    .map((file) => readFileSync(join(ROOT, 'test/docs/recipes', file), 'utf8'))
    .join('\n');
  const untested = pages.filter((page) => {
    const document = readDocument(`docs/recipes/${page}`);
    const files = prose(document).match(/\]\(\.\.\/operations\/[\w-]+\.ts\)/g) ?? [];
    const length = codeBlocks(document, 'ts', 'python', 'go').length + files.length;
    const isRun = specs.includes(`recipe('${page}'`);
    // Where something comes before the page is loaded.
    const isLoaded = length === 1 && specs.includes(`openPage('docs/recipes/${page}'`);
    return length === 0 || !(isRun || isLoaded);
  });
  expect(untested).toEqual([]);
});
