import { describe, expect, it } from '@jest/globals';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { type DeclaredRow, RecurrenceStore } from '../../support/engine-parts.js';

/**
 * Nodes of two deploys say what recurs while a run holds the row. Each comes again until it has been heard, in whatever
 * order: here in the worst one.
 */
const NAME = 'test.declared';
const KEY = 'repeat';

const stage = stageOfEach();

const query = <Row>(sql: string, parameters: unknown[]): Promise<Row[]> =>
  stage.sql(sql, parameters) as Promise<Row[]>;

/** Of a process that has said nothing yet. */
function storeOf(node: string) {
  const store = new RecurrenceStore({ query }, 'delay_queue', 'ends', node, '');
  return {
    declare: async (...rows: Parameters<typeof store.declare>) =>
      (await store.declare(...rows)).again,
    withdraw: async (...of: Parameters<typeof store.withdraw>) =>
      (await store.withdraw(...of)).left,
  };
}
type Words = ReturnType<typeof storeOf>;

/** A node that has joined. */
async function joined(node: string, names = [NAME]): Promise<Words> {
  await stage.sql(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     VALUES ($1, $2, true, clock_timestamp(), clock_timestamp())`,
    [node, names],
  );
  return storeOf(node);
}

const every = (hours: number, key = KEY): DeclaredRow => ({
  name: NAME,
  key,
  payload: 'null',
  repeat: JSON.stringify({ every: hours * 3_600_000, catchUp: 'latest', declared: true }),
  firstMs: Date.UTC(2040, 0, 1),
});

/** How many hours apart, by key. */
async function stands(): Promise<Record<string, number>> {
  const rows = await stage.sql<{ key: string; hours: number }>(
    `SELECT key, (repeat ->> 'every')::int / 3600000 AS hours FROM delay_queue.delay ORDER BY key`,
  );
  return Object.fromEntries(rows.map(({ key, hours }) => [key, hours]));
}

/** What two nodes say while a run holds the row, which is free at the end. */
async function held(
  speak: (old: Words, newer: Words) => Promise<void>,
  namesOfNewer = [NAME],
): Promise<[old: Words, newer: Words]> {
  const nodes = [await joined('old'), await joined('new', namesOfNewer)] as const;
  await (await joined('first')).declare([every(1)]);
  await stage.sql(
    `UPDATE delay_queue.delay
     SET leased_by = 'somebody', leased_until = clock_timestamp() + interval '1 h'`,
  );
  await speak(...nodes);
  await stage.sql('UPDATE delay_queue.delay SET leased_by = NULL, leased_until = NULL');
  return [...nodes];
}

it('of nodes that say the same at the same moment one inserts it, and none fails', async () => {
  const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((node) => joined(node)));
  // So that they meet.
  await stage.sql(
    `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_sleep(0.003); RETURN NEW; END $$;
     CREATE TRIGGER slowly BEFORE INSERT ON delay_queue.delay FOR EACH ROW EXECUTE FUNCTION slowly()`,
  );
  for (let round = 0; round < 5; round += 1) {
    await stage.sql('TRUNCATE delay_queue.delay');
    let open = nodes;
    while (open.length > 0) {
      const left = await Promise.all(open.map((node) => node.declare([every(1)])));
      open = open.filter((_, index) => left[index]!.length > 0);
    }
    expect(await stands()).toEqual({ [KEY]: 1 });
  }
});

it('the first word of a node counts, also under the name of one that was there before', async () => {
  const [again, newer] = [await joined('again'), await joined('new')];
  await again.declare([every(1)]);
  await newer.declare([every(2)]);
  const restarted = storeOf('again');
  expect(await restarted.declare([every(3), every(1, 'z')])).toEqual([]);
  expect(await restarted.withdraw([NAME], [every(3)])).toBe(0);
  expect(await stands()).toEqual({ [KEY]: 3 });
});

describe('while a run holds the row', () => {
  it('what an older node could not say is not said after the word of a newer one', async () => {
    const [old, newer] = await held(async (before, after) => {
      expect(await before.declare([every(2)])).toEqual([every(2)]);
      expect(await after.declare([every(3)])).toEqual([every(3)]);
    });
    expect(await newer.declare([every(3)])).toEqual([]);
    // There is nothing left for it to say.
    expect(await old.declare([every(2)])).toEqual([]);
    expect(await stands()).toEqual({ [KEY]: 3 });
  });

  it('what a newer node has withdrawn does not come back by an older one', async () => {
    const [old, newer] = await held(async (before, after) => {
      await before.declare([every(2)]);
      await after.declare([]);
      expect(await after.withdraw([NAME], [])).toBe(1);
    });
    expect(await newer.withdraw([NAME], [])).toBe(0);
    expect(await old.declare([every(2)])).toEqual([]);
    expect(await stands()).toEqual({});
  });

  it('what a newer node declares is not withdrawn by an older one', async () => {
    const [old] = await held(async (before, after) => {
      await before.declare([]);
      expect(await before.withdraw([NAME], [])).toBe(1);
      expect(await after.declare([every(1)])).toEqual([]);
    });
    expect(await old.withdraw([NAME], [])).toBe(0);
    expect(await stands()).toEqual({ [KEY]: 1 });
  });

  it('of names that the newer node does not serve the older one still has its say', async () => {
    const [old] = await held(
      async (before, after) => {
        await before.declare([every(2)]);
        await after.declare([]);
      },
      ['test.other'],
    );
    expect(await old.declare([every(2)])).toEqual([]);
    expect(await stands()).toEqual({ [KEY]: 2 });
  });
});
