import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ARCHITECTURE = new URL('../../docs/architecture.md', import.meta.url);
const LIBRARY = fileURLToPath(new URL('../../src/delay-queue', import.meta.url));

/**
 * From the lowest: a room imports those that are named beside it, and itself. The door (module, service,
 * log, index) imports every room, and no room imports the door.
 */
const ROOMS = rooms(`
  delay:
  tasks:      delay
  validation: delay
  options:    delay tasks validation
  handlers:   delay validation options
  wheel:      delay validation
  store:      delay tasks validation
  database:   delay tasks validation store
  cluster:    delay tasks store database
  producer:   delay tasks validation store database
  settlement: delay tasks handlers store
  intake:     delay tasks wheel store database cluster settlement
  execution:  delay tasks validation handlers wheel store database producer settlement intake
  runtime:    delay tasks options handlers wheel store database cluster producer settlement intake execution
`);

function rooms(lines: string): Record<string, readonly string[]> {
  const parts = lines
    .trim()
    .split('\n')
    .map((line) => line.split(':'));
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
  it('are all in the table', () => {
    const found = new Set(files.map(roomOf));
    found.delete('the door');
    expect([...found].toSorted()).toEqual(Object.keys(ROOMS).toSorted());
  });

  it('are told in docs/architecture.md as they are here', () => {
    const [, table] = /```text\n(delay:[^`]*)```/.exec(readFileSync(ARCHITECTURE, 'utf8')) ?? [];
    expect(Object.entries(rooms(table ?? ''))).toEqual(Object.entries(ROOMS));
  });

  it('stand in an order in which each needs only those before it', () => {
    const order = Object.keys(ROOMS);
    const forward = Object.entries(ROOMS).flatMap(([room, needs]) =>
      needs.filter((need) => order.indexOf(need) >= order.indexOf(room)),
    );
    expect(forward).toEqual([]);
  });

  it('import what the table says', () => {
    const strange = imports.filter(({ from, to }) => {
      const [room, other] = [roomOf(from), roomOf(to)];
      return room !== 'the door' && room !== other && !ROOMS[room]?.includes(other);
    });
    expect(strange.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it('and nothing that the table says is idle', () => {
    const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} ${roomOf(to)}`));
    const idle = Object.entries(ROOMS).flatMap(([room, needs]) =>
      needs.map((need) => `${room} ${need}`).filter((arrow) => !used.has(arrow)),
    );
    expect(idle).toEqual([]);
  });

  it('have no circle of files', () => {
    expect(circlesOf(imports)).toEqual([]);
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
