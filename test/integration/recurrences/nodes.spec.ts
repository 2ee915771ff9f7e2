import { expect, it } from '@jest/globals';
import { fencedHandler } from '../../support/delay-node.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';

const NAME = 'test.each-hour';

const stage = stageOfEach();

it('a claim that others take over writes nothing: the effect of an instant is there once', async () => {
  // As after a lease that is over: the row has another epoch when the attempt wants to end.
  await stage.sql(
    `CREATE TABLE effect (due timestamptz);
     CREATE FUNCTION taken_over() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN UPDATE delay_queue.delay SET epoch = epoch + 1; RETURN NEW; END $$;
     CREATE TRIGGER taken_over AFTER INSERT ON effect FOR EACH ROW EXECUTE FUNCTION taken_over()`,
  );
  const handler = fencedHandler(NAME, ({ dueAt }, { manager }) =>
    manager.query('INSERT INTO effect VALUES ($1)', [dueAt]),
  );
  const node = await stage.start({ providers: [handler] });
  const at = new Date(Date.now() - 1_800_000);
  const retrying = node.next('retrying');
  await node.delays.schedule(NAME, null, { key: 'k', at, repeat: { every: '1h' } });
  await retrying;
  expect(await stage.sql('SELECT * FROM effect')).toEqual([]);
  const completed = node.next('completed');
  await stage.sql('DROP TRIGGER taken_over ON effect');
  await completed;
  expect(await stage.sql('SELECT due FROM effect')).toEqual([{ due: at }]);
});
