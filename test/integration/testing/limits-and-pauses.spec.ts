import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OnDelayOptions } from 'nestjs-delay-queue';
import { travelSql } from '../../../src/delay-queue/store/sql/testing/travel.sql.js';
import { tablesOf } from '../../../src/delay-queue/store/tables/schema.js';
import { plainHandler } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { startTested } from './support/tested.js';

const MINUTE_MS = 60_000;

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});
afterEach(() => stage.close());

async function start(options: OnDelayOptions = {}) {
  const node = await startTested(stage, {
    providers: [plainHandler('test.a', () => {}, options), plainHandler('test.b', () => {})],
    // No load tells of anything in the meantime.
    options: { horizon: '1h', loadEvery: '59m' },
  });
  const schedule = async (keys: string[], after: string, group?: string): Promise<void> => {
    const items = keys.map((key) => ({ name: 'test.a' as const, payload: { n: 1 }, key, after }));
    await node.delays.scheduleMany(
      items.map((item) => (group === undefined ? item : { ...item, group })),
    );
  };
  return { ...node, schedule };
}

const when = (runs: readonly { key: string | null; travelledMs: number }[]) =>
  runs.map(({ key, travelledMs }) => `${key} at ${Math.round(travelledMs / MINUTE_MS)}m`);

describe('time that passes in a test', () => {
  it('fills a rate limit, so that what it holds back runs at its pace', async () => {
    const { testing, schedule } = await start({
      global: { rateLimit: { max: 1, per: '10m' } },
    });
    await schedule(['a', 'b', 'c', 'd'], '1h');
    const ran = await testing.advance('85m');
    expect(when(ran)).toEqual(['a at 60m', 'b at 70m', 'c at 80m']);
    expect(await testing.drain()).toEqual([]);
    expect(when(await testing.advance('1h'))).toEqual(['d at 5m']);
  });

  it('leaves other names and groups alone while a limit holds one back', async () => {
    const { testing, schedule, delays } = await start({
      perGroup: { rateLimit: { max: 1, per: '10m' } },
    });
    await schedule(['a1', 'a2'], '1h', 'a');
    await schedule(['b1'], '65m', 'b');
    await delays.schedule('test.b', { text: '' }, { after: '67m', key: 'other' });
    const ran = await testing.advance('2h');
    expect(when(ran)).toEqual(['a1 at 60m', 'b1 at 65m', 'other at 67m', 'a2 at 70m']);
  });

  it('runs all that is due under a limit of how many run at a time', async () => {
    const { testing, schedule } = await start({ global: { concurrency: 1 } });
    await schedule(['a', 'b', 'c'], '0');
    expect(when(await testing.drain()).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'a at 0m',
      'b at 0m',
      'c at 0m',
    ]);
  });

  it('ends a pause, and not before: then what waited for it runs', async () => {
    const { testing, schedule, admin } = await start();
    await admin.pause('test.a', { for: '2h' });
    await schedule(['a'], '1h');
    expect(await testing.advance('90m')).toEqual([]);
    expect(await testing.drain()).toEqual([]);
    await expect(testing.fire('test.a', 'a')).rejects.toThrow('did not begin: it is paused');
    expect(when(await testing.advance('90m'))).toEqual(['a at 30m']);
    expect(await admin.resume('test.a')).toBeNull();
  });

  it('moves every instant that there is, but for leases and what nodes say of themselves', async () => {
    const left = ['delay.leased_until', 'node.declared_at', 'node.seen_at', 'node.started_at'];
    const columns = await stage.sql<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'delay_queue' AND data_type LIKE 'timestamp%'`,
    );
    const sql = travelSql(tablesOf('delay_queue'));
    const moved = [
      ...sql.matchAll(/UPDATE "delay_queue"\.(\w+)[^]*?SET ([^]*?)\n? *FROM/g),
    ].flatMap(([, table, set = '']) =>
      [...set.matchAll(/(\w+) = GREATEST/g)].map(([, column]) => `${table}.${column}`),
    );
    const known = new Set([...moved, ...left]);
    expect(known).toEqual(new Set(columns.map(({ name }) => name)));
  });

  it('ends no pause that has no end; resume does', async () => {
    const { testing, schedule, admin } = await start();
    await admin.pause('test.a', { group: 'shop' });
    await schedule(['shop'], '1h', 'shop');
    await schedule(['none'], '2h');
    expect(when(await testing.advance('9d'))).toEqual(['none at 120m']);
    await admin.resume('test.a', { group: 'shop' });
    expect(when(await testing.drain())).toEqual(['shop at 0m']);
  });
});
