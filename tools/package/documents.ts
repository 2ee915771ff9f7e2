import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** What the package carries as it is. */
const COPIED = ['LICENSE', 'CHANGELOG.md'];

const README = 'README.md';
const TRANSLATION = 'README.zh-CN.md';

/** What a user looks up. The repository has a page for each, the package has one page. */
const PAGES = ['docs/getting-started.md', 'docs/api.md', 'docs/guarantees.md'];

const FENCED = /(^```[\s\S]*?^```$)/gm;
const IMAGE = /^!\[[^\]]*\]\([^)]*\)\n\n?/gm;
const LINK = /\[([^\]]+)\]\(([^)\s]+)\)/g;
const HEADING = /^#+ (.+)$/m;

/** README, changelog and license. */
export function copyDocuments(repository: string, target: string): void {
  for (const file of COPIED) copyFileSync(join(repository, file), join(target, file));
  writeFileSync(join(target, README), packedReadme(repository));
  writeFileSync(join(target, TRANSLATION), packedTranslation(repository));
}

/**
 * The README and, below it, the pages that a user looks up. Links between them stay links, those to what
 * only the repository has become plain words, and pictures are left out.
 */
export function packedReadme(repository: string): string {
  const read = (path: string): string => readFileSync(join(repository, path), 'utf8');
  const titles = new Map(
    PAGES.map((page) => [page, anchorOf(HEADING.exec(read(page))?.[1] ?? '')]),
  );
  const parts = [README, ...PAGES].map((path) => {
    const text = prose(read(path), (part) => relinked(part, path, titles));
    return path === README ? text : prose(text, (part) => part.replaceAll(/^#/gm, '##'));
  });
  return parts.join('\n');
}

/** Its pages are English, and not beside it. */
export function packedTranslation(repository: string): string {
  const text = readFileSync(join(repository, TRANSLATION), 'utf8');
  return prose(text, (part) => relinked(part, TRANSLATION, new Map()));
}

/** @param titles anchors of the pages that are on the same one now */
function relinked(text: string, path: string, titles: Map<string, string>): string {
  return text.replaceAll(IMAGE, '').replaceAll(LINK, (link, words: string, target: string) => {
    if (target.startsWith('https:')) return link;
    const [file = '', anchor] = target.split('#');
    const meant = file === '' ? path : posix.join(posix.dirname(path), file);
    if ([...COPIED, TRANSLATION].includes(meant)) return `[${words}](${meant})`;
    if (meant === README && path === TRANSLATION) return link;
    const place = anchor ?? titles.get(meant);
    const isHere = meant === path || meant === README || titles.has(meant);
    return isHere && place !== undefined ? `[${words}](#${place})` : words;
  });
}

const prose = (text: string, change: (part: string) => string): string =>
  text
    .split(FENCED)
    .map((part) => (part.startsWith('```') ? part : change(part)))
    .join('');

/** As npm and GitHub make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
