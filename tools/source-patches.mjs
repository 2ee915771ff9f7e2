/**
 * Changes to sources on their way into a process and into those that it starts: `SOURCE_PATCHES` holds
 * them as JSON. That is how a mutant of the engine is made without a file being touched. `SOURCE_MARKS` names
 * a file with texts to be inserted, by source, the last of each source first.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PATCHES = JSON.parse(process.env['SOURCE_PATCHES'] ?? '[]');
const MARKS = readMarks(process.env['SOURCE_MARKS']);

/**
 * The source with those patches that are for its file.
 * @throws when what is to be replaced does not stand there exactly once
 */
export function patchSource(source, filename, patches = PATCHES) {
  let text = source;
  for (const [offset, inserted] of MARKS.get(filename) ?? []) {
    text = text.slice(0, offset) + inserted + text.slice(offset);
  }
  for (const { file, from, to } of patches) {
    if (join(ROOT, file) !== filename) continue;
    const parts = text.split(from);
    if (parts.length !== 2) {
      throw new Error(`${file} has this ${parts.length - 1} times instead of once:\n${from}`);
    }
    text = parts.join(to);
  }
  return text;
}

function readMarks(path) {
  if (path === undefined) return new Map();
  const marks = JSON.parse(readFileSync(path, 'utf8'));
  return new Map(Object.entries(marks).map(([file, of]) => [join(ROOT, file), of]));
}
