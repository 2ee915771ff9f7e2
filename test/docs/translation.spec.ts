import { describe, expect, it } from '@jest/globals';
import { codeBlocks, prose, readDocument, type Document } from './documents.js';

const README = readDocument('README.md');
const TRANSLATION = readDocument('README.zh-CN.md');

const levelsOf = ({ path, text }: Document): number[] =>
  [...prose({ path, text }).matchAll(/^(#+) /gm)].map(([, marks = '']) => marks.length);

/** Without their comments, which are in the language of the page. */
const blocksOf = (document: Document): string[] =>
  codeBlocks(document, 'ts', 'sh').map(({ code }) =>
    code.replaceAll(/ *(\/\/|#) .*$/gm, (comment) => (comment.includes('.ts') ? comment : '')),
  );

const figuresOf = (document: Document): string[] =>
  [...prose(document).matchAll(/\d[\d.,]*\d|\d/g)].map(([figure]) => figure).toSorted();

const targetsOf = (document: Document): string[] =>
  [...prose(document).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)/gm)]
    .map(([, target, reference]) => target ?? reference ?? '')
    .filter((target) => !target.startsWith('README'))
    .toSorted();

describe('README.zh-CN.md', () => {
  it('has the headings of the README', () => {
    expect(levelsOf(TRANSLATION)).toEqual(levelsOf(README));
  });

  it('has its code', () => {
    expect(blocksOf(TRANSLATION)).toEqual(blocksOf(README));
  });

  it('has its figures, each as often', () => {
    expect(figuresOf(TRANSLATION)).toEqual(figuresOf(README));
  });

  it('leads to where it leads', () => {
    expect(targetsOf(TRANSLATION)).toEqual(targetsOf(README));
  });
});
