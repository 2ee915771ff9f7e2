import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase } from '../../support/database.js';
import { until } from '../../support/until.js';
import { commandLine } from './support/command-line.js';
import { openDatabase } from './support/database.js';
import {
  examine,
  type Finding,
  type HealthLimits,
  parse,
  parseHealthLimits,
  tryListen,
  withSession,
} from '../../support/command-line.js';

/** Each case plants one thing; it is found, and nothing else that a sound database has not. */
const database = openDatabase();
let usual: Set<string>;
let clients: Client[] = [];

async function connect(): Promise<Client> {
  const one = new Client({ connectionString: database.url });
  await one.connect();
  return one;
}

async function another(): Promise<Client> {
  const one = await connect();
  clients.push(one);
  return one;
}

afterEach(async () => {
  await Promise.all(clients.map((one) => one.end()));
  clients = [];
});

const look = (limits: Partial<HealthLimits> = {}, url = database.url): Promise<Finding[]> => {
  const given = parse(['doctor']);
  return withSession({ given, environment: { DATABASE_URL: url } }, (session) =>
    examine(session, '1.2.3', { ...parseHealthLimits({}), ...limits }),
  );
};

const textOf = ({ level, check, found }: Finding): string => `${level} ${check}: ${found}`;

/** What it says of what was planted: what it does not say of a sound database. */
async function newly(limits: Partial<HealthLimits> = {}): Promise<string[]> {
  const findings = (await look(limits)).filter(({ level }) => level !== 'ok');
  return findings.map(textOf).filter((text) => !usual.has(text));
}

beforeEach(async () => {
  usual ??= new Set((await look()).filter(({ level }) => level !== 'ok').map(textOf));
});

it('finds no problem in a sound database', async () => {
  const findings = await look();
  expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
  const checks = findings.filter(({ level }) => level === 'ok').map(({ check }) => check);
  expect(checks).toEqual(
    expect.arrayContaining(
      'versions encoding clock snapshots listen drift rights identity size rows delays connections nodes'.split(
        ' ',
      ),
    ),
  );
  const { exitCode, out } = await commandLine(database.url, ['doctor']);
  expect({ exitCode, last: out.trim().split('\n').at(-1) }).toEqual({
    exitCode: 0,
    last: expect.stringMatching(/^0 problems, \d notices?, \d+ ok\.$/),
  });
});

/** What is planted in this database, what takes it away, and what is said of it. */
const PLANTED: readonly [plant: string, undo: string, said: RegExp][] = [
  [
    'ALTER TABLE delay_queue.history DROP COLUMN node',
    'ALTER TABLE delay_queue.history ADD COLUMN node text',
    /problem drift: the column history\.node is missing/,
  ],
  [
    'ALTER TABLE delay_queue.delay ALTER COLUMN attempts TYPE bigint',
    'ALTER TABLE delay_queue.delay ALTER COLUMN attempts TYPE integer',
    /problem drift: the column delay\.attempts is changed: bigint NOT NULL DEFAULT 0, should be integer NOT NULL DEFAULT 0/,
  ],
  [
    'ALTER TABLE delay_queue.delay ALTER COLUMN due_at DROP NOT NULL',
    'ALTER TABLE delay_queue.delay ALTER COLUMN due_at SET NOT NULL',
    /problem drift: the column delay\.due_at is changed: timestamp with time zone, should be timestamp with time zone NOT NULL/,
  ],
  [
    'ALTER TABLE delay_queue.delay ADD COLUMN tenant text NOT NULL',
    'ALTER TABLE delay_queue.delay DROP COLUMN tenant',
    /problem drift: the column delay\.tenant on delay is not of the library: text NOT NULL/,
  ],
  [
    'DROP INDEX delay_queue.delay_wake',
    'CREATE INDEX delay_wake ON delay_queue.delay (wake_at, id) WHERE wake_at IS NOT NULL',
    /problem drift: the index delay_wake is missing/,
  ],
  [
    'ALTER TABLE delay_queue.delay DROP CONSTRAINT delay_pkey',
    'ALTER TABLE delay_queue.delay ADD PRIMARY KEY (id)',
    /problem drift: the primary key delay_pkey is missing/,
  ],
  [
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'delay_queue.delay_key'::regclass`,
    `UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'delay_queue.delay_key'::regclass`,
    /problem drift: the index delay_key is not valid/,
  ],
  [
    'ALTER TABLE delay_queue.delay DROP CONSTRAINT delay_due_at_readable',
    'ALTER TABLE delay_queue.delay ADD CONSTRAINT delay_due_at_readable CHECK (isfinite(due_at))',
    /notice drift: the constraint delay_due_at_readable is missing/,
  ],
  [
    'ALTER FUNCTION delay_queue.cancel_one(text, text, text) RENAME TO gone',
    'ALTER FUNCTION delay_queue.gone(text, text, text) RENAME TO cancel_one',
    /problem drift: the function cancel_one\(text,text,text\) is missing/,
  ],
  [
    'ALTER TABLE delay_queue.quota RENAME TO gone',
    'ALTER TABLE delay_queue.gone RENAME TO quota',
    /problem drift: tables are missing: quota/,
  ],
  [
    'ALTER TABLE delay_queue.delay SET (autovacuum_enabled = off)',
    'ALTER TABLE delay_queue.delay RESET (autovacuum_enabled)',
    /problem autovacuum: autovacuum is off for delay/,
  ],
  [
    'ALTER TABLE delay_queue.history SET UNLOGGED',
    'ALTER TABLE delay_queue.history SET LOGGED',
    /problem durability: history is an unlogged table/,
  ],
  [
    'ALTER TABLE delay_queue.pause ENABLE ROW LEVEL SECURITY',
    'ALTER TABLE delay_queue.pause DISABLE ROW LEVEL SECURITY',
    /problem row-security: row-level security is on for pause/,
  ],
  [
    `ALTER DATABASE {db} SET default_transaction_isolation = 'serializable'`,
    'ALTER DATABASE {db} RESET default_transaction_isolation',
    /problem isolation: default_transaction_isolation is 'serializable'/,
  ],
  [
    'ALTER DATABASE {db} SET default_transaction_read_only = on',
    'ALTER DATABASE {db} RESET default_transaction_read_only',
    /notice writes: transactions are read-only here/,
  ],
  [
    'ALTER DATABASE {db} SET statement_timeout = 900',
    'ALTER DATABASE {db} RESET statement_timeout',
    /notice time-limits: statement_timeout is 900 ms for this role/,
  ],
  [
    `INSERT INTO delay_queue.delay (id, name, payload, due_at, wake_at, created_at)
     OVERRIDING SYSTEM VALUE VALUES (1000000, 'a', '{}', '2099-01-01', '2099-01-01', now())`,
    'TRUNCATE delay_queue.delay',
    /problem identity: the next id of "delay_queue"\.delay is \d+, and there are ids up to 1000000/,
  ],
  [
    `SELECT setval('delay_queue.delay_id_seq', 9007199254740000)`,
    `SELECT setval('delay_queue.delay_id_seq', 1)`,
    /problem identity: the ids of "delay_queue"\.delay are used up, since its sequence was moved to 9007199254740000/,
  ],
  [
    'ALTER TABLE delay_queue.delay ALTER COLUMN id DROP IDENTITY',
    'ALTER TABLE delay_queue.delay ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY',
    /problem identity: the column id of "delay_queue"\.delay is no longer an identity column/,
  ],
  [
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, attempts)
     VALUES ('a', '{}', '2099-01-01', '-infinity', now(), -1)`,
    'TRUNCATE delay_queue.delay',
    /problem rows: 1 delay cannot be read, such as id \d+: .*wake_at must be an instant/,
  ],
  [
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at) VALUES ('a', '{}', '2020-01-01', '2020-01-01', now())`,
    'TRUNCATE delay_queue.delay',
    /problem unserved: 1 delay of a is due, the oldest for .*, and no live node serves the name/,
  ],
  [
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at) VALUES ('n1', '{a}', false, now(), now());
     INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at) VALUES ('a', '{}', now() - interval '1 hour', now() - interval '1 hour', now())`,
    'TRUNCATE delay_queue.delay, delay_queue.node',
    /problem late: 1 delay of a is late, the oldest by 1 h/,
  ],
  [
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at) VALUES ('a', '{}', '2099-01-01', '2099-01-01', now())`,
    'TRUNCATE delay_queue.delay',
    /notice unserved: no live node serves a, of which 1 delay waits/,
  ],
  [
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at) SELECT 'a b', '{}', '2020-01-01', 'infinity', now() FROM generate_series(1, 3)`,
    'TRUNCATE delay_queue.delay',
    /notice dead-letters: a b has 3 dead letters/,
  ],
  [
    `INSERT INTO delay_queue.pause (paused_at, until, name, group_id, reason) VALUES (now() - interval '3 days', 'infinity', 'a', '', 'down')`,
    'TRUNCATE delay_queue.pause',
    /notice paused: a has been paused for 3 d, with no end time: down/,
  ],
  [
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at) VALUES ('n1', '{a}', false, now(), now() - interval '1 hour')`,
    'TRUNCATE delay_queue.node',
    /notice nodes: the node n1 has been silent for 1 h/,
  ],
  [
    `INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, leased_by, leased_until)
     VALUES ('a', '{}', '2020-01-01', '2020-01-01', now(), 'n1', now() - interval '1 hour')`,
    'TRUNCATE delay_queue.delay',
    /problem leases: 1 delay of n1, such as id \d+, has lost its lease, and no node takes over/,
  ],
];

/** In the catalogue itself too: a superuser may. */
const run = (sql: string) => {
  const name = new URL(database.url).pathname.slice(1);
  return database.query(`SET allow_system_table_mods = on; ${sql.replaceAll('{db}', name)}`);
};

describe('what is planted in the database is found', () => {
  it.each(PLANTED)('%s', async (plant, undo, said) => {
    await run(plant);
    try {
      expect(await newly()).toEqual(expect.arrayContaining([expect.stringMatching(said)]));
    } finally {
      await run(undo);
    }
    expect(await newly()).toEqual([]);
  });

  it('a function of another version', async () => {
    const { rows } = await database.query(
      `SELECT pg_get_functiondef('delay_queue.cancel_one'::regproc) AS text`,
    );
    const { text } = rows[0] as { text: string };
    await database.query(text.replace('BEGIN', 'BEGIN -- older'));
    expect(await newly()).toEqual([
      'problem drift: the function cancel_one(text,text,text) is changed: its text is that of another version',
    ]);
    // Which is what the finding tells to do.
    expect((await commandLine(database.url, ['migrate'])).exitCode).toBe(0);
    expect(await newly()).toEqual([]);
  });

  it('a session that holds a snapshot', async () => {
    const holder = await another();
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await holder.query('SELECT FROM delay_queue.delay');
    expect(await newly({ snapshotAfterMs: 0 })).toEqual([
      expect.stringMatching(
        /^notice snapshots: session \d+ of .*, idle in transaction has held a snapshot/,
      ),
    ]);
  });

  it('a connection on which LISTEN hears nothing: notified in another database', async () => {
    const other = await createTestDatabase();
    const sources = [database, other].map(({ url }) => new DataSource({ type: 'postgres', url }));
    const [here, there] = (await Promise.all(sources.map((each) => each.initialize()))) as [
      DataSource,
      DataSource,
    ];
    try {
      const apart = {
        createQueryRunner: () => here.createQueryRunner(),
        query: there.query.bind(there),
      };
      expect(await tryListen(apart)).toMatchObject({ level: 'notice', check: 'listen' });
      expect(await tryListen(here)).toMatchObject({ level: 'ok', check: 'listen' });
    } finally {
      await Promise.all(sources.map((each) => each.destroy()));
      await other.drop();
    }
  });

  it('a slot that nothing reads', async () => {
    const name = `doctor_${randomBytes(4).toString('hex')}`;
    await database.query('SELECT pg_create_physical_replication_slot($1)', [name]);
    try {
      const [finding] = (await look()).filter(({ found }) => found.includes(name));
      expect(finding).toMatchObject({
        level: 'notice',
        found: `the replication slot ${name} is inactive`,
        sql: `SELECT pg_catalog.pg_drop_replication_slot('${name}')`,
      });
    } finally {
      await database.query('SELECT pg_drop_replication_slot($1)', [name]);
    }
  });

  it('dead rows, as many as degrade the health of a node', async () => {
    await database.query(
      'ALTER TABLE delay_queue.delay SET (autovacuum_vacuum_threshold = 2000000000)',
    );
    await database.query(`INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at)
      SELECT 'a', '{}', '2099-01-01', '2099-01-01', now() FROM generate_series(1, 100100)`);
    await database.query('DELETE FROM delay_queue.delay');
    const dead = async () =>
      Number(
        (
          await database.query(
            `SELECT n_dead_tup FROM pg_stat_all_tables WHERE relid = 'delay_queue.delay'::regclass`,
          )
        ).rows[0].n_dead_tup,
      );
    await until(dead, (count) => count >= 100_100);
    const found = await newly();
    expect(found).toEqual([
      'notice drift: the table delay is set to autovacuum_vacuum_threshold=2000000000',
      expect.stringMatching(
        /^notice dead-rows: delay has 100,100 dead rows beside \d live ones; last vacuum/,
      ),
    ]);
    await database.query('TRUNCATE delay_queue.delay');
    await database.query('VACUUM delay_queue.delay');
    await database.query('ALTER TABLE delay_queue.delay RESET (autovacuum_vacuum_threshold)');
    expect(await newly()).toEqual([]);
  });

  it('a node that is silent and holds leases', async () => {
    await database.query(`INSERT INTO delay_queue.node (id, names, present, started_at, seen_at) VALUES ('n1', '{a}', false, now(), now() - interval '1 hour');
      INSERT INTO delay_queue.delay (name, payload, due_at, wake_at, created_at, leased_by, leased_until)
      VALUES ('a', '{}', now(), now(), now(), 'n1', now() + interval '1 hour')`);
    expect(await newly()).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^problem nodes: the node n1 has been silent for 1 h and holds 1 delay$/,
        ),
      ]),
    );
    await database.query('TRUNCATE delay_queue.delay, delay_queue.node');
  });
});

describe('another role', () => {
  const role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  let url: string;

  beforeAll(async () => {
    await database.query(
      `CREATE ROLE ${role} LOGIN PASSWORD '${role}'; GRANT USAGE ON SCHEMA delay_queue TO ${role}`,
    );
    const given = new URL(database.url);
    [given.username, given.password] = [role, role];
    url = given.href;
  });

  afterAll(() => database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`));

  it('that may read nothing gets what it may look at, and the rest as not looked at', async () => {
    const findings = await look({}, url);
    const unseen = findings.filter(({ found }) => found.startsWith('could not be checked'));
    expect(unseen.map(({ check }) => check)).toEqual(expect.arrayContaining(['rows', 'delays']));
    expect(findings.map(textOf)).toContain(`notice rights: ${role} may not write`);
  });

  it('of an application that lacks one right is told which', async () => {
    await database.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delay_queue TO ${role};
      GRANT SELECT ON ALL SEQUENCES IN SCHEMA delay_queue TO ${role};
      REVOKE DELETE ON delay_queue.rerun FROM ${role}`);
    const [finding] = (await look({}, url)).filter(({ check }) => check === 'rights');
    expect(finding).toMatchObject({
      level: 'problem',
      found: `${role} lacks DELETE on "delay_queue".rerun`,
      sql: expect.stringContaining(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES`),
    });
    await database.query(finding!.sql!);
    expect((await look({}, url)).map(textOf)).toContain(
      `ok rights: ${role} may do all that a node does`,
    );
  });

  it('that owns something in the schema is told of', async () => {
    await database.query(
      `CREATE TABLE delay_queue.planted (); ALTER TABLE delay_queue.planted OWNER TO ${role}`,
    );
    expect(await newly()).toEqual([
      expect.stringMatching(
        new RegExp(`^problem owners: table delay_queue\\.planted belongs to the role ${role}`),
      ),
    ]);
    await database.query('DROP TABLE delay_queue.planted');
  });
});

it('a database without the tables is told how to get them', async () => {
  const { exitCode, out } = await commandLine(database.url, [
    'doctor',
    '--schema',
    'other',
    '--json',
  ]);
  expect(exitCode).toBe(1);
  const { findings } = JSON.parse(out) as { findings: Finding[] };
  expect(findings.filter(({ level }) => level === 'problem')).toMatchObject([
    {
      check: 'drift',
      found: 'the schema other has no tables',
      todo: 'Run nestjs-delay-queue migrate --schema other, or name the right schema.',
    },
  ]);
});
