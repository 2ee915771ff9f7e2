import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ARCHITECTURE = new URL('../../docs/architecture.md', import.meta.url);
const LIBRARY = fileURLToPath(new URL('../../src/delay-queue', import.meta.url));

/** From the lowest, by room, the rooms that it may import: `depcruise` holds imports against the same table (tools/rooms.mjs). */
const ROOMS = roomsOf(readFileSync(ARCHITECTURE, 'utf8'));

function roomsOf(document: string): [room: string, needs: string[]][] {
  const [, table = ''] = /```text\n(core\/api:[^`]*)```/.exec(document) ?? [];
  return table
    .trim()
    .split('\n')
    .map((line) => line.split(':') as [string, string])
    .map(([room, needs]) => [room, needs.split(' ').filter((need) => need !== '')]);
}

const files = readdirSync(LIBRARY, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);
const textOf = (file: string): string => readFileSync(join(LIBRARY, file), 'utf8');

const IMPORTED = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** From where to where; those of types count: who needs a type of another room knows that room. */
const imports = files.flatMap((from) =>
  [...textOf(from).matchAll(IMPORTED)].map(([, specifier]) => {
    return { from, to: relative(LIBRARY, resolve(LIBRARY, dirname(from), specifier!)) };
  }),
);

/** A folder of the core, its port, or a folder of the ring. */
function roomOf(file: string): string {
  if (!file.includes(sep)) return 'the door';
  const [first, second] = file.split(sep) as [string, string];
  return first === 'core' ? `core/${second.replace(/\.js$/, '.ts')}` : first;
}

describe('the rooms of the library', () => {
  it('are its folders', () => {
    const folders = new Set(files.map(roomOf).filter((room) => room !== 'the door'));
    expect(new Set(ROOMS.map(([room]) => room))).toEqual(folders);
  });

  it('stand in an order in which each needs only those before it, and imports all of them', () => {
    const order = ROOMS.map(([room]) => room);
    const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} ${roomOf(to)}`));
    const wrong = ROOMS.flatMap(([room, needs]) =>
      needs
        .filter(
          (need) => order.indexOf(need) >= order.indexOf(room) || !used.has(`${room} ${need}`),
        )
        .map((need) => `${room} ${need}`),
    );
    expect(wrong).toEqual([]);
  });

  it('have no circle of folders inside them', () => {
    const next = new Map<string, Set<string>>();
    for (const { from, to } of imports.map((one) => ({
      from: dirname(one.from),
      to: dirname(one.to),
    })))
      if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to));
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      [...(next.get(from) ?? [])].some(
        (step) => step === to || (!seen.has(step) && reaches(step, to, seen.add(step))),
      );
    expect([...next.keys()].filter((folder) => reaches(folder, folder))).toEqual([]);
  });
});
