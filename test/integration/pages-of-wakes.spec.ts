import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Client } from 'pg';
import { fileDatabase } from '../support/file-database.js';
import { clientRunner } from '../support/other-node.js';
import { NodeStore, type Shares, type Wake, type WakeCursor } from '../support/engine-parts.js';

const NAME = 'test.tied';
const OTHERS = 'test.of-others';
const ROWS = 60;

const SHARES: Shares = { names: [NAME], counts: [1], ranks: [0], byGroup: [false], leftOut: [] };
const GROUPED: Shares = { ...SHARES, byGroup: [true], leftOut: [`${NAME} paused`] };

const database = fileDatabase();
let store: NodeStore;
/** Ids in the order of their wakes. */
let all: number[];

/** Many share an instant, and some of the rows between are of a name that this node does not serve. */
async function insert(client: Client): Promise<void> {
  await client.query(
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
     SELECT CASE WHEN n % 5 = 0 THEN '${OTHERS}' ELSE '${NAME}' END, 'null', at, at, at
     FROM generate_series(1, ${ROWS}) n,
          LATERAL (SELECT date_trunc('minute', now()) - interval '1 hour'
                          + (n % 7) / 4 * interval '1 microsecond' AS at) i
     ORDER BY random()`,
  );
}

beforeAll(async () => {
  const client = await database.connect();
  await insert(client);
  store = new NodeStore(clientRunner(client), 'delay_queue', 'node');
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM delay_queue.delay WHERE name = '${NAME}' ORDER BY wake_at, delay.id`,
  );
  all = rows.map(({ id }) => Number(id));
});

type Page = { wakes: Wake[]; cursor: WakeCursor | null };

/** Page after page, until there is nothing behind. @returns the ids of each */
async function walk(
  page: (from: WakeCursor | null) => Promise<Page>,
  isLast: (page: Page) => boolean,
): Promise<number[][]> {
  const pages: number[][] = [];
  let cursor: WakeCursor | null = null;
  for (;;) {
    const read: Page = await page(cursor);
    pages.push(read.wakes.map(({ id }) => id));
    if (isLast(read) || pages.length > 2 * ROWS) return pages;
    cursor = read.cursor;
  }
}

const inOrder = (pages: readonly number[][]): number[] => pages.flat();
/** In a page their order is of no matter. */
const sorted = (pages: readonly number[][]): number[] => pages.flat().toSorted((a, b) => a - b);

describe.each([
  ['usual', SHARES],
  ['by group', GROUPED],
])('of delays that share an instant, %s', (_, shares) => {
  it('loads bring each once, however large their pages are', async () => {
    const sizes = [1, 2, 3, 7, all.length - 1, all.length, all.length + 1];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...sizes), async (limit) => {
        const pages = await walk(
          (from) =>
            store.load(shares, from ?? { wakeMs: 0, id: 0 }, {
              horizonMs: 1_000,
              limit,
              peersWithinMs: 1_000,
              isPresent: false,
              instance: 'instance',
            }),
          (page) => page.cursor === null || page.wakes.length < limit,
        );
        expect(sorted(pages)).toEqual(all.toSorted((a, b) => a - b));
        expect(inOrder(pages)).toHaveLength(all.length);
      }),
      { numRuns: 12 },
    );
  });

  it('sweeps bring each once, however many they look at and take', async () => {
    const size = fc.integer({ min: 1, max: 12 });
    const whole = fc.constantFrom(all.length, ROWS, ROWS + 1);
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(size, whole),
        fc.oneof(size, whole),
        fc.boolean(),
        async (scan, limit, isHelp) => {
          const helpAfterMs = isHelp ? 1_000 : null;
          const pages = await walk(
            (from) => store.sweep(shares, from, { scan, limit, helpAfterMs, aheadMs: 0 }),
            (page) => page.cursor === null,
          );
          expect(sorted(pages)).toEqual(all.toSorted((a, b) => a - b));
          for (const page of pages) expect(page.length).toBeLessThanOrEqual(Math.min(scan, limit));
        },
      ),
      { numRuns: 60 },
    );
  });
});
