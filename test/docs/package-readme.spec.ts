import { describe, expect, it } from '@jest/globals';
import { packedReadme, packedTranslation } from '../../tools/package/documents.js';
import { anchorsOf, codeBlocks, prose, readDocument, ROOT, type Document } from './documents.js';

const PACKED: Document = { path: 'README.md', text: packedReadme(ROOT) };
const TRANSLATED: Document = { path: 'README.zh-CN.md', text: packedTranslation(ROOT) };
const IN_PACKAGE = ['LICENSE', 'CHANGELOG.md', 'README.md', 'README.zh-CN.md'];
const linksOf = (document: Document): string[] =>
  [...prose(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);

describe('the README of the package', () => {
  it('has what a user looks up', () => {
    const anchors = ['install', 'methods', 'handlers', 'options', 'errors', 'events'];
    expect(anchorsOf(PACKED)).toEqual(expect.arrayContaining(anchors));
    expect(anchorsOf(PACKED)).toEqual(
      expect.arrayContaining(['what-is-guaranteed', 'what-is-not-guaranteed']),
    );
  });

  it('leads to its own headings, to files of the package and to the web', () => {
    const anchors = anchorsOf(PACKED).map((anchor) => `#${anchor}`);
    expect(new Set(anchors).size).toBe(anchors.length);
    const broken = [...linksOf(PACKED), ...linksOf(TRANSLATED)].filter(
      (target) => !target.startsWith('https:') && ![...anchors, ...IN_PACKAGE].includes(target),
    );
    expect(broken).toEqual([]);
    expect(linksOf(PACKED)).toContain('#api');
  });

  it('has the whole of its code, and no pictures', () => {
    const code = ['README.md', 'docs/getting-started.md', 'docs/api.md', 'docs/guarantees.md'];
    const blocks = code.flatMap((path) => codeBlocks(readDocument(path), 'ts', 'sh'));
    expect(codeBlocks(PACKED, 'ts', 'sh').map((block) => block.code)).toEqual(
      blocks.map((block) => block.code),
    );
    expect([PACKED.text, TRANSLATED.text].join('\n')).not.toMatch(/!\[/);
  });
});
