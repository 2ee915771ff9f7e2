import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { apply, type Change, describe, type Description } from './change.js';
import { changesIn } from './changes.js';
import { ROOT } from '../mutants-by-suite/root.js';

/** A mutant of a sample: a change, and its lines before and after. */
export interface Drawn extends Change, Description {}

const LIBRARY = 'src/delay-queue';

/** Each source of the library, by its path from the root. */
export function sources(): Map<string, string> {
  const files = readdirSync(join(ROOT, LIBRARY), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(LIBRARY, file))
    .toSorted();
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
}

/**
 * Drawn evenly over the lines that can be changed, no line twice: a file of many lines has more of them. A larger sample
 * of the same seed begins with the smaller one.
 */
export function draw(texts: ReadonlyMap<string, string>, seed: number, count: number): Drawn[] {
  const random = randomOf(seed);
  const lines = shuffled(linesOf(texts), random);
  const drawn: Drawn[] = [];
  for (const changes of lines) {
    if (drawn.length === count) break;
    const change = shuffled(changes, random).find((each) => isSyntax(textOf(texts, each), each));
    if (change !== undefined) drawn.push({ ...change, ...describe(textOf(texts, change), change) });
  }
  return drawn;
}

/** The changes of each line that has any. */
function linesOf(texts: ReadonlyMap<string, string>): Change[][] {
  const lines = new Map<string, Change[]>();
  for (const [file, text] of texts) {
    for (const change of changesIn(file, text)) {
      const key = `${file}:${text.slice(0, change.start).split('\n').length}`;
      const line = lines.get(key);
      if (line === undefined) lines.set(key, [change]);
      else line.push(change);
    }
  }
  return [...lines.values()];
}

const textOf = (texts: ReadonlyMap<string, string>, { file }: Change): string =>
  texts.get(file) ?? '';

/** What cannot even be read is found by everything, and shows nothing. */
function isSyntax(text: string, change: Change): boolean {
  const { diagnostics } = ts.transpileModule(apply(text, change), {
    reportDiagnostics: true,
    fileName: change.file,
    compilerOptions: { target: ts.ScriptTarget.ES2022, experimentalDecorators: true },
  });
  return diagnostics?.length === 0;
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const left = [...items];
  return items.map(() => left.splice(Math.floor(random() * left.length), 1)[0] as Item);
}
