import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type DelayNode, plainHandler, signal } from '../../support/delay-node.js';
import { clientRunner } from '../../support/other-node.js';
import { stageOfEach } from './support/stage-of-each.js';
import { AttemptStore } from '../../support/engine-parts.js';

/** A claim that was given up, and is committed later than that. */
let held: Client;

afterEach(() => held.end());

const stage = stageOfEach();

beforeEach(async () => {
  held = new Client({ connectionString: stage.url });
  await held.connect();
});

/**
 * The next claim is done and not committed, and its node hears nothing of it.
 * @returns resolves when the node has seen that the row is not its own, and looks after it again
 */
function holdNextClaim(): Promise<void> {
  const lookedAfter = signal();
  stage.parts.intercept(
    AttemptStore,
    'claim',
    async ({ given: [requests], self: { nodeName } }) => {
      await held.query('BEGIN');
      const store = new AttemptStore(clientRunner(held), 'delay_queue', 'ends', nodeName);
      await store.claim(requests);
      stage.parts.intercept(
        AttemptStore,
        'lookAt',
        async ({ real }) => {
          const rows = await real();
          lookedAfter.resolve();
          return rows;
        },
        1,
      );
      throw new Error('Query read timeout');
    },
    1,
  );
  return lookedAfter.promise;
}

type Run = (delay: { attempt: number }) => Promise<void> | void;

/** A node whose claim of a delay is held. */
async function startHeld(
  lease: '1s' | '8s' | '10m',
  run: Run,
): Promise<{ node: DelayNode; id: string }> {
  const node = await stage.start({
    options: { lease },
    providers: [plainHandler('test.late', run, { maxAttempts: 1, timeout: '60s' })],
  });
  const lookedAfter = holdNextClaim();
  const { id } = await node.delays.schedule('test.late', null, { after: 0, key: 'k' });
  await lookedAfter;
  return { node, id };
}

it.each(['10m', '1s'] as const)(
  'a delay runs once its claim is committed, and is not buried: a lease of %s, which may be over by then',
  async (lease) => {
    const attempts: number[] = [];
    const ends: string[] = [];
    const { node } = await startHeld(lease, ({ attempt }) => void attempts.push(attempt));
    for (const event of ['dead', 'lost', 'retrying', 'released'] as const) {
      node.events.on(event, () => ends.push(event));
    }
    const completed = node.next('completed');
    if (lease === '1s') {
      const { rows } = await held.query<{ over: string }>(
        'SELECT leased_until::text AS over FROM delay_queue.delay',
      );
      await stage.until<{ is: boolean }>(
        `SELECT clock_timestamp() > '${rows[0]!.over}' AS is`,
        ([row]) => row!.is,
      );
    }
    await held.query('COMMIT');
    expect(await completed).toMatchObject({ attempt: 1 });
    expect({ attempts, ends }).toEqual({ attempts: [1], ends: [] });
  },
);

it('a row that another node has claimed under that very epoch is left to it', async () => {
  const attempts: number[] = [];
  // None but the one that is held: the other node is to come first.
  stage.parts.intercept(AttemptStore, 'claim', async () => []);
  const { id } = await startHeld('10m', ({ attempt }) => void attempts.push(attempt));
  const triedToGiveBack = signal();
  stage.parts.intercept(AttemptStore, 'retry', async ({ real }) => {
    const rows = await real();
    triedToGiveBack.resolve();
    return rows;
  });
  await held.query('ROLLBACK');
  const others = await stage.sql(
    `UPDATE delay_queue.delay
     SET leased_by = 'other-node', leased_until = clock_timestamp() + interval '1 minute',
         epoch = epoch + 1, attempts = attempts + 1
     WHERE id = $1 RETURNING *`,
    [id],
  );
  await triedToGiveBack.promise;
  expect(await stage.sql('SELECT * FROM delay_queue.delay')).toEqual(others);
  expect(attempts).toEqual([]);
});

it('an attempt that runs under the epoch of a claim that was lost is not given back', async () => {
  const end = signal();
  const began = signal();
  const { node } = await startHeld('8s', () => {
    began.resolve();
    return end.promise;
  });
  await held.query('ROLLBACK');
  await began.promise;
  const ROW = 'SELECT epoch, leased_until AS until FROM delay_queue.delay';
  const [before] = await stage.sql<{ epoch: number; until: Date }>(ROW);
  // Sweeps come every half lease, and may see it: it is renewed, and nothing else.
  const [after] = await stage.until<{ epoch: number; until: Date }>(
    ROW,
    ([row]) => row!.until.getTime() > before!.until.getTime(),
  );
  expect(after!.epoch).toBe(before!.epoch);
  const completed = node.next('completed');
  end.resolve();
  expect(await completed).toMatchObject({ attempt: 1 });
});
