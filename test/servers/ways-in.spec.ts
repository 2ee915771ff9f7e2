import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { DelayEvents } from 'nestjs-delay-queue';
import type { ClientBase } from 'pg';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { UNDURABLE } from '../support/test-server.js';
import { type Certificate, selfSigned } from './support/certificate.js';
import { OwnServer } from './support/own-server.js';

type Way = Omit<PostgresDataSourceOptions, 'type'>;

const USER = 'postgres';

let server: OwnServer;
let certificate: Certificate;
let node: DelayNode | undefined;

beforeAll(async () => {
  certificate = selfSigned(USER);
  server = await OwnServer.create({ ...UNDURABLE, ssl: 'off' });
  await server.put('server.crt', certificate.cert);
  await server.put('server.key', certificate.key);
  // A certificate is asked for, and a password too, where TLS is used; nobody is trusted.
  const rules = ['hostssl all', 'local all', 'hostnossl all'].map((rule) => {
    const from = rule.startsWith('local') ? '' : 'samehost';
    const more = rule.startsWith('hostssl') ? 'clientcert=verify-full' : '';
    return `${rule} all ${from} scram-sha-256 ${more}\n`;
  });
  await server.put('pg_hba.conf', rules.join(''));
  const socket = process.platform === 'win32' ? '' : server.dataPath;
  await server.configure({ ssl: 'on', ssl_ca_file: 'server.crt', unix_socket_directories: socket });
  await server.start();
  await server.migrate();
  await server.sql(`
    CREATE ROLE shop;
    GRANT USAGE ON SCHEMA delay_queue TO shop;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delay_queue TO shop;
    GRANT ALL ON SCHEMA public TO shop;
    CREATE TABLE effect (who text NOT NULL);
    GRANT ALL ON effect TO shop`);
});

afterEach(async () => {
  await node?.stop();
  node = undefined;
});

afterAll(() => server.remove());

const parts = (): { host: string; port: number; password: string } => {
  const { hostname, port, password } = new URL(server.url);
  return { host: hostname, port: Number(port), password };
};

/** How nearly everybody configures TypeORM. */
function plain(more: Way = {}): Way {
  return { ...parts(), username: USER, database: 'postgres', ...more };
}

/** Whether each node that became ready heard what it listens to. */
const listening: boolean[] = [];

@Injectable()
class Watch {
  constructor(events: DelayEvents) {
    events.on('ready', ({ listens }) => listening.push(listens));
  }
}

const WAYS: Record<string, () => Way> = {
  'host, port, username, password, database': () => plain(),
  'a password that a function promises': () => plain({ password: async () => parts().password }),
  'a certificate of its own': () => plain({ host: 'localhost', ssl: tls() }),
  'TLS as a part of extra': () => plain({ host: 'localhost', extra: { max: 4, ssl: tls() } }),
  'an application name and a schema': () =>
    plain({ applicationName: 'the shop', schema: 'public', connectTimeoutMS: 3_000, poolSize: 4 }),
  'replication: the master': () => {
    const { host, port, password } = parts();
    const master = { host, port, username: USER, password, database: 'postgres' };
    return { replication: { master, slaves: [{ ...master, applicationName: 'a slave' }] } };
  },
  'limits that are meant for its own pool': () =>
    plain({
      extra: {
        max: 3,
        min: 1,
        maxUses: 1,
        maxLifetimeSeconds: 1,
        idleTimeoutMillis: 1,
        allowExitOnIdle: true,
        query_timeout: 2_000,
        statement_timeout: 1_000,
        lock_timeout: 1_000,
        idle_in_transaction_session_timeout: 1_000,
      },
    }),
  'a role that a hook sets': () =>
    plain({
      extra: {
        onConnect: (client: ClientBase) => client.query('SET ROLE shop'),
      },
    }),
  ...(process.platform === 'win32'
    ? {}
    : { 'a Unix socket': () => plain({ host: server.dataPath }) }),
};

const tls = (): object => ({ ca: certificate.cert, cert: certificate.cert, key: certificate.key });

/** Sessions of the server, by the part of the name that says whose they are. */
const sessions = (like: string): Promise<{ pid: number; usename: string; ssl: boolean }[]> =>
  server.sql(
    `SELECT a.pid, a.usename, s.ssl FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid)
     WHERE application_name LIKE '${like}'`,
  );

it.each(Object.keys(WAYS))('%s: listens, schedules, fires', async (name) => {
  await server.sql('TRUNCATE effect');
  const database = WAYS[name]!();
  node = await startNode({
    url: '',
    database,
    providers: [
      Watch,
      plainHandler('test.plain', () => {}),
      fencedHandler('test.fenced', async (_, { manager }) => {
        await manager.query('INSERT INTO effect VALUES (current_user)');
      }),
    ],
    options: { nodeName: name.slice(0, 20) },
  });
  expect(listening.splice(0)).toEqual([true]);
  const plainEnds = node.next('completed', (delay) => delay.name === 'test.plain');
  const fencedEnds = node.next('completed', (delay) => delay.name === 'test.fenced');
  expect(await node.delays.schedule('test.plain', null, { after: 0 })).toMatchObject({
    verdict: 'scheduled',
  });
  await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
  await Promise.all([plainEnds, fencedEnds]);
  await node.dataSource.transaction((manager) =>
    node!.delays.schedule('test.plain', null, { after: '1h', key: 'k', manager }),
  );
  expect(await node.delays.cancel('test.plain', 'k')).toMatchObject({ verdict: 'cancelled' });
  const expected = name === 'a role that a hook sets' ? 'shop' : USER;
  expect(await server.sql('SELECT who FROM effect')).toEqual([{ who: expected }]);
  const engine = await sessions('delay-queue %');
  expect(engine.length).toBeGreaterThanOrEqual(2);
  const isEncrypted = /TLS|certificate/.test(name);
  for (const session of engine) expect(session).toMatchObject({ ssl: isEncrypted });
});
