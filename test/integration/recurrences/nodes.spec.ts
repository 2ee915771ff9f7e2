import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DelayNode, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { repeated } from '../../support/repeated.js';
import { until } from '../../support/until.js';
import { Stage } from '../engine/support/stage.js';

const NAME = 'test.each-second';
const PERIOD = 1_000;
const EACH = { every: PERIOD, catchUp: 'each' } as const;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE effect (node text, due timestamptz)');
});

afterEach(() => stage.close());

const INTO = 'INSERT INTO effect VALUES ($1, $2)';

const start = (kind: 'plain' | 'fenced', nodeName: string): Promise<DelayNode> => {
  const plain = plainHandler(
    NAME,
    async ({ dueAt }) => void (await stage.sql(INTO, [nodeName, dueAt])),
  );
  const fenced = fencedHandler(NAME, ({ dueAt }, { manager }) =>
    manager.query(INTO, [nodeName, dueAt]),
  );
  const handler = kind === 'plain' ? plain : fenced;
  return stage.start({ providers: [repeated(handler, NAME, EACH)], options: { nodeName } });
};

/** Milliseconds between the runs, in the order of their due times. */
async function gaps(): Promise<number[]> {
  const rows = await stage.sql<{ ms: number }>(
    `SELECT (extract(epoch FROM due - lag(due) OVER (ORDER BY due)) * 1000)::float8 AS ms FROM effect`,
  );
  return rows.slice(1).map(({ ms }) => ms);
}

const runs = (count: number): Promise<unknown> =>
  stage.until<{ runs: number }>(
    'SELECT count(*)::int AS runs FROM effect',
    ([row]) => row!.runs >= count,
  );

describe.each(['plain', 'fenced'] as const)('of a %s handler', (kind) => {
  it('two nodes run each instant once, and none drifts', async () => {
    const nodes = await Promise.all([start(kind, 'one'), start(kind, 'other')]);
    await runs(4);
    // Each of them goes on when the other has gone.
    await nodes[0]?.stop();
    await runs(7);
    await nodes[1]?.stop();
    expect(new Set(await gaps())).toEqual(new Set([PERIOD]));
    const [row] = await stage.sql<{ ended: number; rows: number }>(
      `SELECT count(*)::int AS ended, (SELECT count(*)::int FROM delay_queue.delay) AS rows
       FROM delay_queue.history WHERE state = 'completed'`,
    );
    const [{ effects } = { effects: 0 }] = await stage.sql<{ effects: number }>(
      'SELECT count(*)::int AS effects FROM effect',
    );
    expect(row).toEqual({ ended: effects, rows: 1 });
  });
});

it('a claim that others take over writes nothing: the effect of an instant is there once', async () => {
  const first = await start('fenced', 'one');
  await runs(1);
  // As after a lease that is over: the row has another epoch when the attempt wants to end.
  await stage.sql(
    `CREATE FUNCTION taken_over() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF NEW.node = 'one' THEN UPDATE delay_queue.delay SET epoch = epoch + 1; END IF;
       RETURN NEW;
     END $$`,
  );
  await stage.sql(
    'CREATE TRIGGER taken_over AFTER INSERT ON effect FOR EACH ROW EXECUTE FUNCTION taken_over()',
  );
  await first.next('retrying');
  await stage.sql('DROP TRIGGER taken_over ON effect');
  await start('fenced', 'other');
  await until(
    () => gaps(),
    ({ length }) => length > 3,
  );
  expect(new Set(await gaps())).toEqual(new Set([PERIOD]));
});

it('a run longer than its period does not overlap with the next one', async () => {
  let running = 0;
  let atOnce = 0;
  let ended = 0;
  const slow = plainHandler(NAME, async () => {
    running += 1;
    atOnce = Math.max(atOnce, running);
    // Until the next instant has come.
    await stage.until<{ past: boolean }>(
      `SELECT clock_timestamp() > due_at + interval '${PERIOD} ms' AS past FROM delay_queue.delay`,
      ([row]) => row!.past,
    );
    running -= 1;
    ended += 1;
  });
  const providers = [repeated(slow, NAME, EACH)];
  await Promise.all([stage.start({ providers }), stage.start({ providers })]);
  await until(
    () => ended,
    (count) => count > 2,
  );
  expect(atOnce).toBe(1);
});
