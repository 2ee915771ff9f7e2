import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeBlocks, prose, readDocument, ROOT } from '../documents.js';

const INDEX = readDocument('docs/recipes/README.md');
const pages = readdirSync(join(ROOT, 'docs/recipes')).filter((file) => file !== 'README.md');

const specs = readdirSync(join(ROOT, 'test/docs/recipes'))
  .filter((file) => file.endsWith('.spec.ts'))
  .map((file) => readFileSync(join(ROOT, 'test/docs/recipes', file), 'utf8'))
  .join('\n');

describe('the recipes', () => {
  it('are all in the index, each once', () => {
    const listed = [...prose(INDEX).matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page = '']) => page);
    expect(listed.toSorted()).toEqual(pages.toSorted());
  });

  it.each(pages)('%s: each of its blocks is loaded by a test', (page) => {
    const blocks = codeBlocks(readDocument(`docs/recipes/${page}`), 'ts');
    const names = blocks.map(({ code }) => /^\/\/ ([\w.-]+\.ts)\n/.exec(code)?.[1]);
    expect(names.length).toBeGreaterThan(0);
    const tests = specs.split(/^describe\(/m).filter((text) => text.startsWith(`'${page}'`));
    const loaded = names.filter((name) => name && tests.some((text) => text.includes(`'${name}'`)));
    expect(loaded).toEqual(names);
  });
});
