import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeBlocks, ROOT, type Document } from './documents.js';

/** The `ts` blocks of one document as files that a compiler, or Node, can open. */
export interface Unpacked {
  folder: string;
  files: { file: string; path: string; block: string }[];
  remove(): void;
}

/**
 * A block whose first line is `// some-name.ts` is that file, so blocks of one document import each
 * other; any other block is a module of its own.
 *
 * The folder lies inside the project, from where packages and `nestjs-delay-queue` itself are found,
 * and under `.data`, which git, the formatter and the linter pass by.
 */
export function unpack(document: Document): Unpacked {
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data', 'docs-'));
  const files = codeBlocks(document, 'ts').map(({ code, line }) => {
    const file = /^\/\/ ([\w.-]+\.ts)\n/.exec(code)?.[1] ?? `line-${line}.ts`;
    const path = join(folder, file);
    // So that a message names the line of the document.
    writeFileSync(path, code, { flag: 'wx' });
    return { file, path, block: `${document.path}:${line} (${file})` };
  });
  return { folder, files, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
