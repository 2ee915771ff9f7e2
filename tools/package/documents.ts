import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A link to a file that only the repository has. */
const LINK_INTO_REPOSITORY = /\[([^\]]+)\]\((?!https?:|#|LICENSE|CHANGELOG\.md)[^)]*\)/g;

/** README, changelog and license; links to what is not in the package become plain words. */
export function copyDocuments(repository: string, target: string): void {
  for (const file of ['LICENSE', 'CHANGELOG.md']) {
    copyFileSync(join(repository, file), join(target, file));
  }
  const readme = readFileSync(join(repository, 'README.md'), 'utf8');
  writeFileSync(join(target, 'README.md'), readme.replaceAll(LINK_INTO_REPOSITORY, '$1'));
}
