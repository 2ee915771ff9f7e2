import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';

const LEASE_MS = 1_000;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

it('a handler that succeeded does not run again while its result cannot be written', async () => {
  await stage.sql(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON delay_queue.history
    FOR EACH ROW EXECUTE FUNCTION refuse()`);
  let runs = 0;
  const node = await stage.start({
    options: { lease: LEASE_MS },
    providers: [plainHandler('test.plain', () => void (runs += 1))],
  });
  const completed = node.next('completed');
  await node.delays.schedule('test.plain', null, { after: 0 });
  // Held for several leases, by renewals alone.
  await stage.until<{ heldMs: number }>(
    `SELECT extract(epoch FROM leased_until - due_at)::float8 * 1000 AS "heldMs"
     FROM delay_queue.delay`,
    ([row]) => (row?.heldMs ?? 0) > 4 * LEASE_MS,
  );
  await stage.sql('DROP TRIGGER refuse ON delay_queue.history');
  expect(await completed).toMatchObject({ attempt: 1 });
  expect(runs).toBe(1);
});
