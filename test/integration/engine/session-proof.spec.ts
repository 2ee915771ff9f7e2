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

it('writes on sessions of its own once they have proven to be', async () => {
  const { delays, dataSource } = await stage.start({ poolMax: 1 });
  const [pool] = await dataSource.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
  let n = 0;
  const others = await until(
    async () => {
      n += 1;
      await delays.schedule(NAME, { n }, { ...FAR, key: `k${n}` });
      return stage.sql(
        `SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE '%INSERT INTO%' AND pid NOT IN ($1, pg_backend_pid())`,
        [pool!.pid],
      );
    },
    (sessions) => sessions.length > 0,
  );
  expect(others).toHaveLength(1);
  expect(await delays.find(NAME, `k${n}`)).toMatchObject({ payload: { n } });
});

const sessions = (): Promise<{ application_name: string }[]> =>
  stage.sql(
    `SELECT application_name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name <> 'stage'`,
  );

it('can be stopped while it does not know yet, and leaves no session behind', async () => {
  for (let times = 0; times < 3; times += 1) {
    const node = await stage.start({});
    await node.stop();
    expect(await until(sessions, (open) => open.length === 0)).toEqual([]);
  }
});
