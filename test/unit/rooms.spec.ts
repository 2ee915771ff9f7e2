import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ARCHITECTURE = new URL('../../docs/architecture.md', import.meta.url);
const LIBRARY = fileURLToPath(new URL('../../src/delay-queue', import.meta.url));

/** From the lowest, by room, the rooms that it may import: `depcruise` reads the same table (tools/rooms.mjs). */
const ROOMS = roomsOf(readFileSync(ARCHITECTURE, 'utf8'));

function roomsOf(document: string): Record<string, readonly string[]> {
  const [, table = ''] = /```text\n(delay:[^`]*)```/.exec(document) ?? [];
  const lines = table.trim().split('\n');
  const parts = lines.map((line) => line.split(':'));
  return Object.fromEntries(
    parts.map(([room, needs]) => [room!.trim(), needs!.split(' ').filter((need) => need !== '')]),
  );
}

interface Import {
  from: string;
  to: string;
}

const IMPORTED = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** Those of types count: who needs a type of another room knows that room. */
function importsOf(file: string): Import[] {
  const text = readFileSync(join(LIBRARY, file), 'utf8');
  return [...text.matchAll(IMPORTED)].map(([, specifier]) => ({
    from: file,
    to: relative(LIBRARY, resolve(LIBRARY, dirname(file), specifier!)).replace(/\.js$/, '.ts'),
  }));
}

const files = readdirSync(LIBRARY, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);
const imports = files.flatMap(importsOf);

const roomOf = (file: string): string => (file.includes(sep) ? file.split(sep)[0]! : 'the door');

const linesOf = (file: string): number =>
  readFileSync(join(LIBRARY, file), 'utf8').trimEnd().split('\n').length;

/** Every circle's members, each circle once: what can be reached from itself. */
function circlesOf(arrows: readonly Import[]): string[] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of arrows) {
    if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to));
  }
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(next.get(from) ?? [])].some(
      (step) => step === to || (!seen.has(step) && reaches(step, to, seen.add(step))),
    );
  return [...next.keys()].filter((node) => reaches(node, node));
}

describe('the rooms of the library', () => {
  it('are the folders of the library', () => {
    const folders = new Set(files.map(roomOf).filter((room) => room !== 'the door'));
    expect(Object.keys(ROOMS).toSorted()).toEqual([...folders].toSorted());
  });

  it('stand in an order in which each needs only those before it', () => {
    const order = Object.keys(ROOMS);
    const forward = Object.entries(ROOMS).flatMap(([room, needs]) =>
      needs.filter((need) => order.indexOf(need) >= order.indexOf(room)),
    );
    expect(forward).toEqual([]);
  });

  it('import all that the table says', () => {
    const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} ${roomOf(to)}`));
    const idle = Object.entries(ROOMS).flatMap(([room, needs]) =>
      needs.map((need) => `${room} ${need}`).filter((arrow) => !used.has(arrow)),
    );
    expect(idle).toEqual([]);
  });

  it('have no circle of folders inside them', () => {
    const folders = imports.map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }));
    expect(circlesOf(folders)).toEqual([]);
  });

  it('have at most twelve files in a folder', () => {
    const counts = new Map<string, number>();
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 12)).toEqual([]);
  });

  it('have no file of more than two hundred lines', () => {
    expect(files.filter((file) => linesOf(file) > 200)).toEqual([]);
  });
});
