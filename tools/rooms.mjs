/**
 * What `depcruise` checks of the library, for `npm run lint`: the rooms import each other as the table in
 * docs/architecture.md says, and nothing goes in circles. Imports of types count: who needs a type of another
 * room knows that room.
 */
import { readFileSync } from 'node:fs';

const LIBRARY = '^src/delay-queue/';

/** By room, the rooms that it may import. */
function roomsOf(document) {
  const [, table] = /```text\n(core\/api:[^`]*)```/.exec(document) ?? [];
  if (table === undefined) throw new Error('docs/architecture.md has no table of the rooms');
  const lines = table.trim().split('\n');
  return lines.map((line) => {
    const [room, needs] = line.split(':');
    return { room: room.trim(), needs: needs.split(' ').filter((need) => need !== '') };
  });
}

const rooms = roomsOf(readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8'));

/** A folder, or one of the three files that the ring sees of the core. */
const pathOf = (room) => (room.endsWith('.ts') ? `${room.replace('.', '\\.')}$` : `${room}/`);

/** The command line starts whole nodes, so it imports the entry, which puts core and ring together. */
const entryFor = (room) => (room === 'cli' ? ['index.ts'] : []);

const direction = ({ room, needs }) => ({
  name: `what-${room}-imports`,
  comment: `${room} imports ${needs.join(', ') || 'no other room'}: see docs/architecture.md`,
  severity: 'error',
  from: { path: `${LIBRARY}${pathOf(room)}` },
  to: {
    path: LIBRARY,
    pathNot: `${LIBRARY}(${[room, ...needs, ...entryFor(room)].map(pathOf).join('|')})`,
  },
});

const circle = (scope) => ({
  name: `no-circle-of-${scope}s`,
  severity: 'error',
  scope,
  from: {},
  to: { circular: true },
});

export default {
  forbidden: [
    ...rooms.map(direction),
    {
      name: 'only-known-rooms',
      comment: 'a folder of the library that the table in docs/architecture.md does not name',
      severity: 'error',
      from: {
        path: `${LIBRARY}[^/]+/`,
        pathNot: rooms.map(({ room }) => `${LIBRARY}${pathOf(room)}`),
      },
      to: {},
    },
    circle('module'),
    circle('folder'),
  ],
  options: {
    tsPreCompilationDeps: true,
    includeOnly: LIBRARY,
  },
};
