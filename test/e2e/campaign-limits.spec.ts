import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { people } from './support/campaigns.js';
import { SupervisedShop } from './support/supervised-shop.js';

const MERCHANTS = Array.from({ length: 8 }, (_, n) => `merchant-${n}`);
const BACKLOG = 8;
/** Batches that the provider takes. */
const OF_ALL_IN_A_SECOND = 5;

interface Claim {
  merchant: string;
  atMs: number;
}

/** How much later each is than the one `behind` before it. */
const apart = (claims: Claim[], behind: number): number[] =>
  claims.slice(behind).map(({ atMs }, index) => atMs - claims[index]!.atMs);

/** By the lease that a claim gives, which is counted from the instant in which the limit was looked at. */
const NOTE_CLAIMS = `
  CREATE TABLE claim (merchant text, leased_until timestamptz);
  CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS
    $$ BEGIN INSERT INTO claim VALUES (NEW.group_id, NEW.leased_until); RETURN NEW; END $$;
  CREATE TRIGGER note_claim AFTER UPDATE ON delay_queue.delay FOR EACH ROW
    WHEN (NEW.name = 'campaign.send' AND NEW.attempts > OLD.attempts) EXECUTE FUNCTION note_claim()`;

describe('the pace of campaigns, in two processes', () => {
  let database: TestDatabase;
  let us: Client;
  let shop: SupervisedShop;

  beforeAll(async () => {
    database = await createTestDatabase();
    us = new Client(database.url);
    await us.connect();
    await us.query(NOTE_CLAIMS);
    await us.query(`INSERT INTO merchant (id, name) SELECT id, id FROM unnest($1::text[]) AS id`, [
      MERCHANTS,
    ]);
    shop = await SupervisedShop.start(database.url, { MESSAGES_PER_SECOND: '4' });
  });
  afterAll(async () => {
    await shop.stop();
    await us.end();
    await database.drop({ force: true });
  });

  const campaign = async (merchant: string, recipients: number, atMs: number): Promise<string> => {
    const at = new Date(atMs).toISOString();
    const { id } = await shop.post('/campaigns', {
      merchant,
      at,
      message: 'New teas',
      recipients: people(recipients),
    });
    return id;
  };
  const completed = async (ids: string[]): Promise<number> => {
    const sql = `SELECT FROM campaign WHERE id = ANY ($1) AND state = 'COMPLETED'`;
    return (await us.query(sql, [ids])).rowCount!;
  };
  const allOf = (ids: string[]): Promise<number> =>
    until(
      () => completed(ids),
      (count) => count === ids.length,
    );

  it('each merchant has its own, all of them share the provider’s, and a crowd of one slows no other', async () => {
    // One merchant's campaigns wait before anybody else has begun, and none begins before all of them are there.
    const startMs = Date.now() + 3_000;
    const crowd: string[] = [];
    for (let n = 0; n < BACKLOG; n += 1) crowd.push(await campaign('tea-house', 4, startMs));
    const others = await Promise.all(MERCHANTS.map((id) => campaign(id, 8, startMs + 1)));
    await allOf(others);
    const inBetween = await completed(crowd);
    await allOf(crowd);
    const { rows: all } = await us.query<Claim>(
      `SELECT merchant, (extract(epoch FROM leased_until) * 1000)::float8 AS "atMs"
       FROM claim ORDER BY leased_until`,
    );

    for (const merchant of ['tea-house', ...MERCHANTS]) {
      const own = all.filter((claim) => claim.merchant === merchant);
      expect(own.length).toBeGreaterThanOrEqual(merchant === 'tea-house' ? BACKLOG : 2);
      expect(Math.min(...apart(own, 1))).toBeGreaterThanOrEqual(1_000);
    }
    expect(Math.min(...apart(all, OF_ALL_IN_A_SECOND))).toBeGreaterThanOrEqual(1_000);
    // 16 batches of the others are four seconds of the provider; the crowd has had a turn in each of them.
    expect(inBetween).toBeLessThan(BACKLOG);
  }, 120_000);
});
