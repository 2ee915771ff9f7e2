import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import {
  type Finding,
  hears,
  judge,
  startListening,
  notice,
  ok,
  problem,
  SERVER_CHECKS,
  TIME_LIMIT_MS_MIN,
  TIME_LIMITS,
  stopListening,
} from '../core/ops.js';
import type { ServerNow } from './doctor.sql.js';
import type { Right, Setting } from './doctor.store.js';
import { callSql, counted } from '../ops/checks/words.js';
import { duration } from './output.js';

/** Versions, encoding, and what a node refuses to start with. */
export function serverFindings(found: ServerNow, packageVersion: string): Finding[] {
  const wrong = judge(SERVER_CHECKS, found);
  return [
    ok(
      'versions',
      `nestjs-delay-queue ${packageVersion}, Node ${process.versions.node}, Postgres ${found.version}; ` +
        `the role ${found.role} on the database ${found.database}`,
    ),
    ...wrong,
    ...(wrong.some(({ check }) => check === 'encoding')
      ? []
      : [ok('encoding', 'the database is UTF8')]),
  ];
}

/** Settings that matter. */
export const SETTINGS = [
  'autovacuum',
  'fsync',
  'full_page_writes',
  'idle_in_transaction_session_timeout',
  'jit',
  'session_replication_role',
  'statement_timeout',
  'synchronous_commit',
  'track_counts',
  'transaction_timeout',
] as const;

/** Settings by which what a call has answered may be lost. */
const LOSING: readonly [name: (typeof SETTINGS)[number], wrong: string, means: string][] = [
  [
    'synchronous_commit',
    'off',
    'A crash of the server takes back what was committed in its last moments: a delay that schedule answered is gone, and an attempt runs again.',
  ],
  ['fsync', 'off', 'A crash of the machine may destroy the database.'],
  ['full_page_writes', 'off', 'A crash of the machine may destroy pages.'],
  [
    'session_replication_role',
    'replica',
    'Triggers and foreign keys of the application do not fire.',
  ],
];

export function settingFindings(settings: readonly Setting[], quotedRole: string): Finding[] {
  const value = (name: (typeof SETTINGS)[number]): string | undefined =>
    settings.find((each) => each.name === name)?.setting;
  const findings: Finding[] = [];
  for (const name of ['autovacuum', 'track_counts'] as const) {
    if (value(name) !== 'off') continue;
    findings.push(
      problem('autovacuum', `${name} is off`, {
        means: 'Nothing removes dead rows: the tables and their indexes only grow.',
        todo: 'Turn it on.',
        sql: `ALTER SYSTEM SET ${name} = on; ${callSql('pg_reload_conf')}`,
      }),
    );
  }
  for (const [name, wrong, means] of LOSING) {
    if (value(name) !== wrong) continue;
    const isServers = name !== 'synchronous_commit' && name !== 'session_replication_role';
    findings.push(
      notice('durability', `${name} is ${wrong}`, {
        means,
        todo: isServers
          ? 'Turn it on.'
          : 'Set it back where the role, the database or the server set it.',
        sql: isServers
          ? `ALTER SYSTEM SET ${name} = on; ${callSql('pg_reload_conf')}`
          : `ALTER ROLE ${quotedRole} SET ${name} = ${name === 'synchronous_commit' ? 'on' : 'origin'}`,
      }),
    );
  }
  if (value('jit') === 'on') {
    findings.push(
      notice('jit', 'jit is on', {
        means:
          "The engine turns it off in its own sessions. In the application's, and behind a pooler, a statement may be compiled for longer than it runs.",
        todo: 'Turn it off for the role of the application.',
        sql: `ALTER ROLE ${quotedRole} SET jit = off`,
      }),
    );
  }
  if (value('idle_in_transaction_session_timeout') === '0') {
    findings.push(
      notice('idle_in_transaction_session_timeout', 'there is no limit for idle transactions', {
        means:
          'A session that is left inside a transaction holds its rows and a snapshot for as long as it lives.',
        todo: 'Give roles of applications, people and reports a limit that is longer than their longest pause.',
        sql: `ALTER ROLE ${quotedRole} SET idle_in_transaction_session_timeout = '5min'`,
      }),
    );
  }
  for (const name of TIME_LIMITS) {
    const ms = Number(value(name) ?? 0);
    if (ms === 0 || ms >= TIME_LIMIT_MS_MIN) continue;
    findings.push(
      notice('time-limits', `${name} is ${ms} ms for this role`, {
        means: 'Behind a pooler it ends a claim of many rows on a busy server.',
        todo: 'Give the role of the application at least 5 s.',
        sql: `ALTER ROLE ${quotedRole} SET ${name} = '30s'`,
      }),
    );
  }
  return findings.length === 0 ? [ok('settings', 'the settings suit it')] : findings;
}

/** What the engine of a node opens with the default `connections`; a pool and `transactionalConnections` come on top. */
const CONNECTIONS_OF_AN_ENGINE = 3 + 3 + 1;

export function connectionFindings(
  { connections: open, connectionsMax: most }: ServerNow,
  nodes: number,
): Finding[] {
  const engines = nodes * CONNECTIONS_OF_AN_ENGINE;
  const text = `${open} of ${most} connections are open`;
  if (open > most * 0.8) {
    return [
      problem('connections', text, {
        means: 'The server soon refuses connections.',
        todo: 'Raise max_connections, make the pools or transactionalConnections smaller, or put PgBouncer in between.',
        sql: `ALTER SYSTEM SET max_connections = ${most * 2}; -- needs a restart`,
      }),
    ];
  }
  const may = `beside their pools and transactionalConnections, whose sizes are unknown here, ${counted(nodes, 'live node')} may open ${engines}`;
  if (engines > most) {
    return [
      notice('connections', `${text}; ${may}`, {
        means: 'At their peak, and in a deploy, the server would refuse some.',
        todo: 'Raise max_connections, or make the pools or transactionalConnections smaller.',
      }),
    ];
  }
  return [ok('connections', `${text}; ${may}`)];
}

/** Rights of a role that writes, or of one that only reads. */
export function rightFindings(rights: readonly Right[], role: string, schema: string): Finding[] {
  const lacking = rights.filter(({ has }) => has === 'false');
  if (lacking.length === 0) return [ok('rights', `${role} may do all that a node does`)];
  const writes = rights.some(
    ({ kind, privilege, has }) => kind === 'table' && privilege !== 'SELECT' && has === 'true',
  );
  const grants =
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}; ` +
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}; ` +
    `GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}; ` +
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role}`;
  if (!writes) {
    return [
      notice('rights', `${role} may not write`, {
        means: 'Good for a role that only reads. A node, and a change, need more.',
        todo: 'Nothing, if it is to read only.',
        sql: grants,
      }),
    ];
  }
  const which = lacking.map(({ privilege, name }) => `${privilege} on ${name}`).join(', ');
  return [
    problem('rights', `${role} lacks ${which}`, {
      means: 'The first call that needs it fails.',
      todo: 'Grant the rights as the owner of the tables.',
      sql: grants,
    }),
  ];
}

/** The machine's clock may be off by any time without effect: it is told, not judged. */
export function clockFinding(databaseMs: number, sentMs: number, answeredMs: number): Finding {
  const offMs = databaseMs - (sentMs + answeredMs) / 2;
  const about = `the clock of the database is ${duration(Math.abs(offMs))} ${offMs < 0 ? 'behind' : 'ahead of'} that of this machine`;
  if (Math.abs(offMs) < 1_000 + (answeredMs - sentMs)) return ok('clock', about);
  return notice('clock', about, {
    means:
      "Only the database's clock decides when a delay is due. If it is the wrong one, all are.",
    todo: 'Compare both with another clock; run chrony or the like on the server.',
  });
}

/** Listens on one connection and notifies from another, as nodes do. */
export async function listenFinding(
  dataSource: Pick<DataSource, 'createQueryRunner' | 'query'>,
): Promise<Finding> {
  const runner = dataSource.createQueryRunner();
  const channel = `delay_queue_doctor_${process.pid}_${Date.now()}`;
  try {
    const client = (await runner.connect()) as Client;
    const session = await startListening(client, channel);
    const hearing = await hears(client, channel, {
      query: (sql, parameters) => dataSource.query(sql, parameters),
    });
    await stopListening(client, channel, session);
    if (hearing === 'unknown') throw new Error('the connection that was to notify does not answer');
    return hearing === 'heard' ? ok('listen', 'LISTEN works') : UNHEARD;
  } finally {
    await runner.release();
  }
}

const UNHEARD = notice('listen', 'LISTEN does not work on this connection', {
  means:
    'A pooler in transaction mode is in between. Nodes work, and load every second instead of hearing of new delays at once.',
  todo: 'Give the application a direct connection, if it matters.',
});
