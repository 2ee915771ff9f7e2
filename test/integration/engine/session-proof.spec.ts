import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { until } from '../../support/until.js';
import { Stage } from './support/stage.js';

/** A node without handlers, which has no listener that would know whether sessions are its own. */
let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const NAME = 'test.a';
const FAR = { after: '1h' } as const;

/** What the sessions that the engine opened, and nobody else, ran last. */
const lastStatements = async (): Promise<string[]> => {
  const rows = await stage.sql<{ query: string }>(
    `SELECT query FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'delay-queue %'`,
  );
  return rows.map(({ query }) => query);
};

it('writes on sessions of its own once they have proven to be', async () => {
  const { delays } = await stage.start({});
  let n = 0;
  const ran = await until(
    async () => {
      n += 1;
      await delays.schedule(NAME, { n }, { ...FAR, key: `k${n}` });
      return lastStatements();
    },
    (queries) => queries.some((query) => query.includes('INSERT INTO')),
  );
  expect(ran.filter((query) => query.startsWith('LISTEN'))).toEqual([]);
  expect(await delays.find(NAME, `k${n}`)).toMatchObject({ payload: { n } });
});

it('can be stopped while it does not know yet, and leaves no session behind', async () => {
  for (let times = 0; times < 3; times += 1) {
    const node = await stage.start({});
    await node.stop();
    expect(await until(lastStatements, (queries) => queries.length === 0)).toEqual([]);
  }
});
