import { describe, expect, it } from '@jest/globals';
import { complaintsAbout } from './compile.js';
import { allDocuments, codeBlocks, type Document } from './documents.js';
import { unpack } from './unpacked.js';

const compiled = allDocuments().filter((document) => codeBlocks(document, 'ts').length > 0);

function complaints(document: Document): string[] {
  const unpacked = unpack(document);
  try {
    return complaintsAbout(unpacked);
  } finally {
    unpacked.remove();
  }
}

describe('the code in the documents', () => {
  it.each(compiled.map((document) => [document.path, document] as const))(
    'compiles: %s',
    (_path, document) => {
      expect(complaints(document)).toEqual([]);
    },
  );

  it('is found: the README, getting started and the recipes have some', () => {
    expect(compiled.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'README.md',
        'docs/getting-started.md',
        'docs/recipes/recurring-work.md',
      ]),
    );
  });

  it('is judged by the compiler: an error in a block is reported with its line', () => {
    const text = [
      '```ts',
      `import type { Delay } from 'nestjs-delay-queue';`,
      `declare module 'nestjs-delay-queue' {`,
      `  interface DelayPayloads { 'a.b': { n: number } }`,
      `}`,
      `export const wrong = (delay: Delay<'a.b'>): string => delay.payload.n;`,
      '```',
      '',
    ].join('\n');
    expect(complaints({ path: 'wrong.md', text })).toEqual([
      expect.stringMatching(/^wrong\.md:2 \(line-2\.ts\), line 5: Type 'number'/),
    ]);
  });
});
