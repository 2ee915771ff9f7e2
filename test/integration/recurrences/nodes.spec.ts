import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { RepeatOptions } from 'nestjs-delay-queue';
import { type DelayNode, fencedHandler, plainHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';

const HOUR = 3_600_000;
const EACH: RepeatOptions = { every: '1h', catchUp: 'each' };
const INTO = 'INSERT INTO effect VALUES ($1, $2, $3)';

let stage: Stage;
let running: number;
let atOnce: number;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE effect (name text, node text, due timestamptz)');
  [running, atOnce] = [0, 0];
});

afterEach(() => stage.close());

const start = (nodeName: string): Promise<DelayNode> => {
  const plain = plainHandler('test.plain', async ({ name, dueAt }) => {
    running += 1;
    atOnce = Math.max(atOnce, running);
    await stage.sql(INTO, [name, nodeName, dueAt]);
    running -= 1;
  });
  const fenced = fencedHandler('test.fenced', ({ name, dueAt }, { manager }) =>
    manager.query(INTO, [name, nodeName, dueAt]),
  );
  return stage.start({ providers: [plain, fenced], options: { nodeName } });
};

it('two nodes run each instant once, one after the other, and none drifts', async () => {
  const nodes = await Promise.all([start('one'), start('other')]);
  // A backlog, so that the next instant has come before a run is over.
  const at = new Date(Date.now() - 9.5 * HOUR);
  const names = ['test.plain', 'test.fenced'] as const;
  await nodes[0].delays.scheduleMany(
    names.map((name) => ({ name, payload: null, key: 'k', at, repeat: EACH })),
  );
  await stage.until(
    'SELECT FROM delay_queue.delay WHERE due_at > clock_timestamp() AND leased_by IS NULL',
    ({ length }) => length === names.length,
  );
  const instants = Array.from({ length: 10 }, (_, hour) => new Date(at.getTime() + hour * HOUR));
  for (const name of names) {
    const effects = await stage.sql<{ due: Date }>(
      'SELECT due FROM effect WHERE name = $1 ORDER BY due',
      [name],
    );
    expect(effects.map(({ due }) => due)).toEqual(instants);
    const ends = await nodes[0].delays.history(name, 'k');
    expect(ends.map(({ dueAt }) => dueAt).toReversed()).toEqual(instants);
  }
  expect(atOnce).toBe(1);
});

it('a claim that others take over writes nothing: the effect of an instant is there once', async () => {
  const node = await start('one');
  // As after a lease that is over: the row has another epoch when the attempt wants to end.
  await stage.sql(
    `CREATE FUNCTION taken_over() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN UPDATE delay_queue.delay SET epoch = epoch + 1; RETURN NEW; END $$;
     CREATE TRIGGER taken_over AFTER INSERT ON effect FOR EACH ROW EXECUTE FUNCTION taken_over()`,
  );
  const at = new Date(Date.now() - HOUR / 2);
  const retrying = node.next('retrying');
  await node.delays.schedule('test.fenced', null, { key: 'k', at, repeat: EACH });
  await retrying;
  expect(await stage.sql('SELECT * FROM effect')).toEqual([]);
  const completed = node.next('completed');
  await stage.sql('DROP TRIGGER taken_over ON effect');
  await completed;
  expect(await stage.sql('SELECT due FROM effect')).toEqual([{ due: at }]);
});
