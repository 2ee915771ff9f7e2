import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeBlocks, readDocument, section } from '../docs/documents.js';

/** A server and a release that only the reader has. */
const DATABASE_URL = /DATABASE_URL=\S+ /g;
const PACKAGE = / nestjs-delay-queue\b/g;

const FILE = /^\/\/ ([\w.-]+)\n/;

/**
 * Follows a part of getting started: writes the files that it shows into the folder, and answers the
 * commands that it gives, with the tarball in place of the package's name.
 */
export function follow(heading: string, folder: string): string[] {
  const text = section(readDocument('docs/getting-started.md'), heading);
  const part = { path: 'docs/getting-started.md', text };
  for (const { code } of codeBlocks(part, 'ts', 'jsonc')) {
    const [, name] = FILE.exec(code) ?? [];
    if (name === undefined) throw new Error(`${heading}: a block does not say which file it is`);
    writeFileSync(join(folder, name), code);
  }
  return codeBlocks(part, 'sh')
    .flatMap(({ code }) => code.trim().split('\n'))
    .map((line) => line.replace(DATABASE_URL, '').replace(PACKAGE, ' ./nestjs-delay-queue.tgz'));
}
