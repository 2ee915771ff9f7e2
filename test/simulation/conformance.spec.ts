import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { randomOf } from '../../src/random.js';
import { byId, normalised } from './conformance/same.js';
import { realSide, simulatedSide, type RealSide, type Side } from './conformance/side.js';
import type { Step } from './conformance/step.js';
import { randomStep, type Seen } from './conformance/steps.js';
import type { Answers } from './conformance/together.js';
import { passMs } from './conformance/wishes.js';

const SEQUENCES = 200;
const STEPS = 25;

/** After so many calls all rows are compared, and at the end. */
const LOOK_EVERY = 8;

/** All that a caller can be told by a statement that he shares; nothing: he has to wait, alone. */
const TOLD = [
  ...['absent', 'cancelled', 'nothing', 'running'].map((verdict) => `cancel: ${verdict}`),
  'place keyless: scheduled',
  // Somebody's uncommitted row has one of the keys, and all of them are refused.
  'place: 55P03',
  ...['conflict', 'kept', 'nothing', 'replaced', 'running', 'scheduled'].map(
    (verdict) => `place: ${verdict}`,
  ),
  ...['absent', 'nothing', 'rescheduled', 'running'].map((verdict) => `reschedule: ${verdict}`),
];

let database: TestDatabase;
let real: RealSide;
let simulated: Side;

/** What callers of shared statements were told, each once. */
const told = new Set<string>();

beforeAll(async () => {
  database = await createTestDatabase();
  real = await realSide(database.url);
});

afterAll(async () => {
  await real.close();
  await database.drop();
});

const both = <Result>(run: (side: Side) => Promise<Result>): Promise<[Result, Result]> =>
  Promise.all([run(real), run(simulated)]);

const control = (sql: string): Promise<unknown> =>
  both((side) => side.runner('open').query(sql, []));

/** What a call answers, or the error it ends with. */
const answerOf = (side: Side, step: Step): Promise<unknown> =>
  step.run(side).catch((error: unknown) => error);

async function compare(what: string, of: (side: Side) => Promise<unknown>): Promise<void> {
  const [atReal, atSimulated] = await both(of);
  const expected = normalised(atReal, real.nowMs());
  const answer = normalised(atSimulated, simulated.nowMs());
  // The matcher takes its time, and is needed for its message alone.
  if (!isDeepStrictEqual(answer, expected))
    expect({ what, answer }).toEqual({ what, answer: expected });
}

/** A call that has to wait for the open transaction gets its answer when that one has ended. */
async function take(step: Step, endOpen: () => Promise<void>): Promise<void> {
  const [atReal, atSimulated] = [answerOf(real, step), answerOf(simulated, step)];
  const waits = Symbol('waits');
  const first = await Promise.race([atSimulated, new Promise((go) => setImmediate(go, waits))]);
  if (first === waits) {
    await real.untilItWaits();
    await endOpen();
  }
  if (step.together !== undefined) note(step.together, await atSimulated);
  const order = step.hasOrder ? (answer: unknown) => answer : byId;
  await compare(`${step.what}${first === waits ? ', which waited' : ''}`, async (side) =>
    order(await (side === real ? atReal : atSimulated)),
  );
}

/** What each caller was told. */
function note(verb: string, answer: unknown): void {
  if (answer instanceof Error) told.add(`${verb}: ${(answer as { code?: string }).code}`);
  else for (const placed of answer as Answers) told.add(`${verb}: ${placed?.verdict ?? 'nothing'}`);
}

async function sequence(seed: number): Promise<number> {
  const random = randomOf(`conformance ${seed}`);
  simulated = simulatedSide();
  await real.clear();
  let isOpen = false;
  let waited = 0;
  const end = async (): Promise<void> => {
    isOpen = false;
    await control(random.chance(0.7) ? 'COMMIT' : 'ROLLBACK');
  };
  for (let count = 0; count < STEPS; count += 1) {
    if (isOpen && random.chance(0.2)) await end();
    else if (!isOpen && random.chance(0.2)) {
      isOpen = true;
      await control('START TRANSACTION');
    } else if (!isOpen && random.chance(0.15)) {
      const ms = passMs(random);
      await both((side) => side.pass(ms));
    }
    if (count % LOOK_EVERY === 0) await compare('state', (side) => side.state());
    const { delay } = await simulated.state();
    const step = randomStep(random, delay as Seen[], isOpen);
    await take(step, async () => {
      waited += 1;
      await end();
    });
    // Two statements on one side are a millisecond apart, so they are on the other.
    const untilMs = performance.now() + 1.1;
    while (performance.now() < untilMs) await new Promise(setImmediate);
  }
  if (isOpen) await end();
  await compare('state at the end', (side) => side.state());
  return waited;
}

describe('the simulated Postgres', () => {
  it(`answers ${SEQUENCES} sequences of calls as the real one does`, async () => {
    let waited = 0;
    for (let seed = 1; seed <= SEQUENCES; seed += 1) {
      try {
        waited += await sequence(seed);
      } catch (error) {
        throw new Error(`sequence ${seed}: ${String(error)}`, { cause: error });
      }
    }
    // The sequences do meet each other's locks.
    expect(waited).toBeGreaterThan(SEQUENCES / 20);
    // And many callers at once meet each state of a row, and whoever holds it.
    expect([...told].toSorted()).toEqual(TOLD);
  }, 600_000);
});
