import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** What the package carries as it is. */
export const COPIED = [
  'LICENSE',
  'docs/operations/alerts.yaml',
  'docs/operations/delay-metrics.ts',
  'docs/operations/grafana.json',
];

const AT_THE_TOP = ['README.md', 'README.zh-CN.md', 'CHANGELOG.md'];

/**
 * The sample shop and the designs of others are programs of the repository, and pictures make most of its
 * size.
 */
const LEFT_OUT = /^docs\/(?:classics\/|shop\.md$)|\.(?!md$)\w+$/;

const FENCED = /(^```[\s\S]*?^```$)/gm;
const IMAGE = /^!\[[^\]]*\]\([^)]*\)\n\n?/gm;
const LINK = /\[([^\]]+)\]\(([^)\s]+)\)/g;

/** The documents that the package has, by their paths in the repository and in the package. */
export const packedDocuments = (repository: string): string[] => [
  ...AT_THE_TOP,
  ...readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join('docs', path.replaceAll('\\', '/')))
    .filter((path) => path.endsWith('.md') && !LEFT_OUT.test(path)),
];

/** Commands, and paths that are no links. The README has a section of its own about a clone. */
const OF_CLONE = /`npm (?:run|test)\b|^npm (?:run|test|ci)\b|`(?:src|test|bench|tools)\//m;

const NEEDS_CLONE =
  '_Commands like `npm run …`, and files of `src`, `test`, `bench` and `tools`, are those of a clone, not of this package._';

/** README, changelog, license, and all pages of `docs`. */
export function copyDocuments(repository: string, target: string): void {
  for (const file of COPIED) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    copyFileSync(join(repository, file), join(target, file));
  }
  for (const path of packedDocuments(repository)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), packedDocument(repository, path));
  }
}

/** Links to what only the repository has become plain words, and pictures are left out. */
export function packedDocument(repository: string, path: string): string {
  const packed = new Set([...COPIED, ...packedDocuments(repository)]);
  const isThere = (target: string): boolean => {
    const [file = ''] = target.split('#');
    return file === '' || packed.has(posix.join(posix.dirname(path), file));
  };
  const text = readFileSync(join(repository, path), 'utf8');
  const isOfClone = path.startsWith('docs/') && OF_CLONE.test(text);
  return prose(isOfClone ? text.replace('\n', `\n\n${NEEDS_CLONE}\n`) : text, (part) =>
    part
      .replaceAll(IMAGE, '')
      .replaceAll(LINK, (link, words: string, target: string) =>
        target.startsWith('https:') || isThere(target) ? link : words,
      ),
  );
}

const prose = (text: string, change: (part: string) => string): string =>
  text
    .split(FENCED)
    .map((part) => (part.startsWith('```') ? part : change(part)))
    .join('');
