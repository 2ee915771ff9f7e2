import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { DelayConfigError, delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { AdviceWatch } from '../integration/engine/support/advice-watch.js';
import { refusedStart } from '../integration/engine/support/refused-start.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { plainHandler, startNode } from '../support/delay-node.js';

/** What a stranger may have put into the schema before, and how an error calls it. */
const PUT: Readonly<Record<string, string>> = {
  'table delay_queue.delay': 'CREATE TABLE delay_queue.delay (id bigint)',
  'table delay_queue.delay_wake': 'CREATE TABLE delay_queue.delay_wake (id bigint)',
  'view delay_queue.node': 'CREATE VIEW delay_queue.node AS SELECT 1 AS id',
  'sequence delay_queue.delay_id_seq': 'CREATE SEQUENCE delay_queue.delay_id_seq',
  'type delay_queue.permit': 'CREATE TYPE delay_queue.permit AS ENUM ()',
  'function delay_queue.cancel_one(pg_catalog.text,pg_catalog.text,integer)':
    'CREATE FUNCTION delay_queue.cancel_one(text, text, int) RETURNS void BEGIN ATOMIC SELECT; END',
  'trigger spies on delay_queue.pause':
    'CREATE TRIGGER spies BEFORE INSERT ON delay_queue.pause EXECUTE FUNCTION spy()',
};

let database: TestDatabase;
let admin: Client;
let sources: DataSource[];
let roles: string;
let stranger: string;

beforeEach(async () => {
  database = await createEmptyDatabase();
  sources = [];
  roles = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  stranger = `${roles}_stranger`;
  admin = new Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(`
    CREATE ROLE ${roles}_owner LOGIN PASSWORD 'no';
    CREATE ROLE ${roles}_member LOGIN PASSWORD 'no' IN ROLE ${roles}_owner;
    CREATE ROLE ${roles}_app LOGIN PASSWORD 'no';
    CREATE ROLE ${stranger} LOGIN PASSWORD 'no';
    GRANT CREATE ON DATABASE ${new URL(database.url).pathname.slice(1)} TO ${roles}_owner;
    GRANT CREATE ON SCHEMA public TO PUBLIC`);
});

afterEach(async () => {
  await Promise.all(sources.map((source) => source.destroy()));
  const all = ['owner', 'member', 'app', 'stranger'].map((name) => `${roles}_${name}`).join(', ');
  await admin.query(`DROP OWNED BY ${all} CASCADE; DROP ROLE ${all}`);
  await admin.end();
  await database.drop();
});

const urlOf = (role: string): string =>
  role === 'superuser'
    ? database.url
    : Object.assign(new URL(database.url), { username: `${roles}_${role}`, password: 'no' }).href;

async function migrateAs(role: string): Promise<void> {
  const url = urlOf(role);
  const source = new DataSource({ type: 'postgres', url, migrations: delayQueueMigrations() });
  await source.initialize();
  sources.push(source);
  await runMigrations(source);
}

/** With its own rights: it may create in the schema, and have triggers on its tables. */
const put = (what: string): Promise<unknown> =>
  admin.query(`
    GRANT CREATE, USAGE ON SCHEMA delay_queue TO ${stranger};
    GRANT TRIGGER ON ALL TABLES IN SCHEMA delay_queue TO ${stranger};
    SET ROLE ${stranger};
    CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    ${what};
    RESET ROLE`);

const refusal = (what: string): object => ({
  code: 'DELAY_CONFIG',
  message: expect.stringMatching(
    new RegExp(`^${what.replaceAll(/[().]/g, '\\$&')} .*belongs to the role ${stranger}\\b`),
  ),
});

describe.each(['owner', 'superuser'])(
  'what belongs to a stranger, where the %s migrates',
  (role) => {
    const who = () => (role === 'owner' ? `${roles}_owner` : 'postgres');

    it('is refused, the schema first', async () => {
      await admin.query(`CREATE SCHEMA delay_queue AUTHORIZATION ${stranger}`);
      const refused = migrateAs(role);
      await expect(refused).rejects.toBeInstanceOf(DelayConfigError);
      await expect(refused).rejects.toMatchObject(refusal('schema delay_queue'));
      await expect(refused).rejects.toThrow(`ALTER SCHEMA delay_queue OWNER TO ${who()}`);
      await admin.query('DROP SCHEMA delay_queue CASCADE');
      await migrateAs(role);
    });

    it.each(Object.keys(PUT))('is refused: %s', async (what) => {
      await admin.query(`CREATE SCHEMA delay_queue AUTHORIZATION ${who()}`);
      if (what.startsWith('trigger')) {
        await admin.query(
          `CREATE TABLE delay_queue.pause (); ALTER TABLE delay_queue.pause OWNER TO ${who()}`,
        );
      }
      await put(PUT[what]!);
      await expect(migrateAs(role)).rejects.toMatchObject(refusal(what));
    });
  },
);

const start = () => ({ url: urlOf('app'), providers: [plainHandler('test.plain', () => {})] });

describe('a role that uses the tables', () => {
  beforeEach(async () => {
    await migrateAs('owner');
    await admin.query(`
      GRANT USAGE ON SCHEMA delay_queue TO ${roles}_app;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delay_queue TO ${roles}_app;
      GRANT SELECT ON ALL SEQUENCES IN SCHEMA delay_queue TO ${roles}_app`);
  });

  it.each(Object.keys(PUT).filter((what) => /^(function|trigger)/.test(what)))(
    'does not start beside %s',
    async (what) => {
      await put(PUT[what]!);
      const error = await refusedStart(start());
      expect(error).toMatchObject(refusal(what));
      expect(String(error)).toContain(`not to ${roles}_owner, the owner of the schema`);
      await admin.query(`DROP OWNED BY ${stranger} CASCADE`);
      const node = await startNode(start());
      await node.stop();
    },
  );

  it('is told of functions of triggers that have no search_path of their own, and how to mend them', async () => {
    const made = (name: string, path = ''): Promise<unknown> =>
      admin.query(`
        SET ROLE ${roles}_owner;
        CREATE FUNCTION public."${name}"() RETURNS trigger LANGUAGE plpgsql ${path}
          AS 'BEGIN INSERT INTO audit VALUES (NEW.name); RETURN NEW; END';
        CREATE TRIGGER "${name}" AFTER INSERT ON delay_queue.delay
          FOR EACH ROW EXECUTE FUNCTION public."${name}"();
        CREATE TRIGGER "${name} again" BEFORE INSERT ON delay_queue.history
          FOR EACH ROW EXECUTE FUNCTION public."${name}"();
        RESET ROLE`);
    await made('has a path', 'SET search_path = public, pg_temp');
    await made('Audit');
    const { advice, provider } = new AdviceWatch();
    const begin = async () => {
      const { providers, url } = start();
      await (await startNode({ url, providers: [...providers, provider] })).stop();
    };
    await begin();
    const mend = 'ALTER FUNCTION public."Audit"() SET search_path = public, pg_temp';
    expect(advice).toEqual([expect.stringMatching(/triggers on the tables .*\(42P01\)/)]);
    expect(advice[0]!.split('their own. ')[1]).toBe(mend);
    await admin.query(mend);
    await begin();
    expect(advice).toHaveLength(1);
  });

  it('starts on what a member of the owner has made', async () => {
    await admin.query(`ALTER TABLE delay_queue.delay OWNER TO ${roles}_member`);
    await admin.query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON delay_queue.delay TO ${roles}_app, ${roles}_owner`,
    );
    const node = await startNode(start());
    expect(await node.delays.find('test.plain', 'k')).toBeNull();
    await node.stop();
  });
});

it('a member of the owner migrates, and the owner after it', async () => {
  await admin.query(`CREATE SCHEMA delay_queue AUTHORIZATION ${roles}_owner`);
  await migrateAs('member');
  await admin.query('DROP TABLE public.migrations');
  await admin.query(`GRANT ALL ON ALL TABLES IN SCHEMA delay_queue TO ${roles}_owner`);
  // What is there is another role's, and no stranger's: Postgres alone refuses to replace it.
  await expect(migrateAs('owner')).rejects.toThrow(/must be owner of/);
  await migrateAs('member');
});
