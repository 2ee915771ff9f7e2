import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A Markdown file; `path` is relative to the project's root, with slashes. */
export interface Document {
  path: string;
  text: string;
}

/** A fenced block of a document. */
export interface CodeBlock {
  language: string;
  code: string;
  /** Of the first line of code in the document, counted from 1. */
  line: number;
}

export const readDocument = (path: string): Document => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
});

/** All that a reader may open: the files in the root, and everything under `docs/`. */
export function allDocuments(): Document[] {
  const under = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory()) return under(path);
      return entry.name.endsWith('.md') ? [path] : [];
    });
  const atTop = ['README.md', 'README.zh-CN.md', 'CHANGELOG.md', 'CONTRIBUTING.md'];
  return [...atTop, ...under('docs')].map(readDocument);
}

export function codeBlocks({ text }: Document, ...languages: string[]): CodeBlock[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .map(({ 1: language = '', 2: code = '', index }) => ({
      language,
      code,
      line: text.slice(0, index).split('\n').length + 1,
    }))
    .filter(({ language }) => languages.includes(language));
}

/** The text without fenced blocks, in which links and paths mean nothing. */
export const prose = ({ text }: Document): string => text.replaceAll(/^```[\s\S]*?^```$/gm, '');

/** What stands under a heading, up to the next heading of any level. */
export function section({ path, text }: Document, heading: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex(
    (line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading,
  );
  if (start < 0) throw new Error(`${path} has no heading "${heading}"`);
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line));
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join('\n');
}

/** The rows of the first table under a heading, its header first. */
export function tableUnder(document: Document, heading: string): string[][] {
  const lines = section(document, heading).split('\n');
  const start = lines.findIndex((line) => line.startsWith('|'));
  const length = lines.slice(start).findIndex((line) => !line.startsWith('|'));
  const rows = start < 0 ? [] : lines.slice(start, length < 0 ? undefined : start + length);
  if (rows.length < 3) throw new Error(`${document.path} has no table under "${heading}"`);
  return rows.filter((_, index) => index !== 1).map(cells);
}

const cells = (row: string): string[] =>
  row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'));

/** The first word in backticks of a cell. */
export function coded(cell: string | undefined): string {
  const [, code] = /`([^`]+)`/.exec(cell ?? '') ?? [];
  if (code === undefined) throw new Error(`no code in the cell "${cell}"`);
  return code;
}

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

export const anchorsOf = (document: Document): string[] =>
  [...prose(document).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
