/**
 * `npm run files:passed`: which files of the library run for one delay, from `schedule` to its row and from its expiry
 * to its completed row, as V8 counts them. A file counts if one of its functions ran in every round: timers that
 * happen to run beside the delay do not.
 */
import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { createTestDatabase } from '../test/support/database.js';
import { fencedHandler, plainHandler, startNode } from '../test/support/delay-node.js';
import { closeTestRun, openTestRun } from '../test/support/open-test-run.js';

const LIBRARY = new URL('../src/delay-queue/', import.meta.url).href;
const NAMES_FUNCTIONS = process.argv.includes('--functions');
/** The first ones measure, prepare and connect. */
const WARM_UP = 12;
const ROUNDS = 5;
const DUE_MS = 150;
/** More than a claim ahead of its time takes. */
const BEFORE_DUE_MS = 40;

type Passed = Map<string, string[]>;
type Name = 'test.plain' | 'test.fenced';

await openTestRun();
const database = await createTestDatabase();
const node = await startNode({
  url: database.url,
  providers: [
    plainHandler('test.plain', async () => {}),
    fencedHandler('test.fenced', async () => {}),
  ],
});
const session = new Session();
let keys = 0;

/** Functions that were called since the last call of this one, by file; modules that were loaded do not count. */
async function called(): Promise<Passed> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files: Passed = new Map();
  for (const { url, functions } of result.filter((script) => script.url.startsWith(LIBRARY))) {
    const names = functions
      .filter((one) => one.ranges[0]!.count > 0 && !isModule(one))
      .map(({ functionName }) => functionName || '(arrow)');
    if (names.length > 0) files.set(url.slice(LIBRARY.length), names);
  }
  return files;
}

const isModule = ({ functionName, ranges }: Profiler.FunctionCoverage): boolean =>
  functionName === '' && ranges[0]?.startOffset === 0;

const schedule = (name: Name, after: number, manager?: EntityManager) =>
  node.delays.schedule(
    name,
    { orderId: '42' },
    { after, key: `key ${++keys}`, ...(manager && { manager }) },
  );

const inTransaction = (): Promise<Passed> =>
  node.dataSource.transaction(async (manager) => {
    await manager.query('SELECT');
    await called();
    await schedule('test.plain', 3_600_000, manager);
    return await called();
  });

async function alone(): Promise<Passed> {
  await called();
  await schedule('test.plain', 3_600_000);
  return await called();
}

const executed = (name: Name) => async (): Promise<Passed> => {
  const completed = node.next('completed', (delay) => delay.name === name);
  const { dueAt } = await schedule(name, DUE_MS);
  await pause(dueAt.getTime() - Date.now() - BEFORE_DUE_MS);
  await called();
  await completed;
  return await called();
};

async function inEveryRound(round: () => Promise<Passed>): Promise<Passed> {
  for (let count = 0; count < WARM_UP; count++) await round();
  const common = await round();
  for (let count = 1; count < ROUNDS; count++) {
    const passed = await round();
    for (const file of common.keys()) if (!passed.has(file)) common.delete(file);
  }
  return common;
}

function print(title: string, passed: Passed): void {
  const files = [...passed.keys()].toSorted();
  const rooms = new Set(files.map((file) => (file.includes('/') ? file.split('/')[0] : 'root')));
  console.log(`\n${title}: ${files.length} files in ${rooms.size} rooms`);
  for (const file of files) {
    console.log(`  ${file}${NAMES_FUNCTIONS ? `: ${passed.get(file)?.join(' ')}` : ''}`);
  }
}

try {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  print('schedule in a transaction, to its answer', await inEveryRound(inTransaction));
  print('schedule without one, to its answer', await inEveryRound(alone));
  print('expiry to the completed row, plain', await inEveryRound(executed('test.plain')));
  print('expiry to the completed row, transactional', await inEveryRound(executed('test.fenced')));
} finally {
  session.disconnect();
  await node.stop();
  await database.drop();
  await closeTestRun();
}
