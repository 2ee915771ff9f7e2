import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { hears, listen, unlisten } from '../cluster/session-proof.js';
import type { Right, ServerFound, Setting } from '../store/doctor.store.js';
import type { HolderRow } from '../store/sql/server.sql.js';
import { type Finding, notice, ok, problem } from './finding.js';
import { counted, duration } from './output.js';

const VERSION_NUM_MIN = 140_000;

/** Versions, encoding, and what a node refuses to start with. */
export function serverFindings(found: ServerFound, packageVersion: string): Finding[] {
  const findings = [
    ok(
      'versions',
      `nestjs-delay-queue ${packageVersion}, Node ${process.versions.node}, Postgres ${found.version}; ` +
        `the role ${found.role} on the database ${found.database}`,
    ),
  ];
  if (Number(found.version_num) < VERSION_NUM_MIN) {
    findings.push(
      problem('versions', `Postgres ${found.version} is too old`, {
        means: 'The statements of the library need Postgres 14: no node starts.',
        todo: 'Upgrade the server.',
      }),
    );
  }
  findings.push(...encodingFindings(found), ...writeFindings(found));
  if (found.isolation !== 'read committed') {
    findings.push(
      problem('isolation', `default_transaction_isolation is ${found.isolation}`, {
        means: 'A claim could not skip rows that changed meanwhile: no node starts.',
        todo: 'Set it for the role, and choose another level per transaction.',
        sql: `ALTER ROLE ${found.quoted_role} SET default_transaction_isolation = 'read committed'`,
      }),
    );
  }
  return findings;
}

function encodingFindings({ encoding, client_encoding: client }: ServerFound): Finding[] {
  if (encoding !== 'UTF8') {
    return [
      problem('encoding', `the encoding of the database is ${encoding}`, {
        means: 'Payloads, keys and error texts may hold any character: no node starts.',
        todo: "Create a database with ENCODING 'UTF8' TEMPLATE template0, and move the tables there with pg_dump.",
      }),
    ];
  }
  if (client === 'UTF8') return [ok('encoding', 'the database is UTF8')];
  return [
    problem('encoding', `client_encoding is ${client}`, {
      means: 'pg sends UTF8: no node starts.',
      todo: 'Remove the setting from the URL, the role and the database.',
    }),
  ];
}

function writeFindings({ is_standby, read_only }: ServerFound): Finding[] {
  if (is_standby === 'true') {
    return [
      problem('writes', 'this server is a standby', {
        means: 'It can be read. Nodes need the primary.',
        todo: 'Connect to the primary.',
      }),
    ];
  }
  if (read_only !== 'on') return [];
  return [
    notice('writes', 'transactions are read-only here', {
      means:
        'Good for a role that only reads. A node does not start with it, and no change is possible.',
      todo: 'For a role that writes: ALTER ROLE … SET default_transaction_read_only = off.',
    }),
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

const LIMIT_MS_MIN = 5_000;

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
        sql: `ALTER SYSTEM SET ${name} = on; ${calling('pg_reload_conf', '')}`,
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
          ? `ALTER SYSTEM SET ${name} = on; ${calling('pg_reload_conf', '')}`
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
  for (const name of ['statement_timeout', 'transaction_timeout'] as const) {
    const ms = Number(value(name) ?? 0);
    if (ms === 0 || ms >= LIMIT_MS_MIN) continue;
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

export function connectionFindings(found: ServerFound, nodes: number): Finding[] {
  const [open, most] = [Number(found.connections), Number(found.max_connections)];
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
export function rightFindings(
  rights: readonly Right[],
  { quoted_role: role }: Pick<ServerFound, 'quoted_role'>,
  schema: string,
): Finding[] {
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

export function holderFindings(holders: readonly HolderRow[]): Finding[] {
  if (holders.length === 0) return [ok('snapshots', 'nothing holds a snapshot for long')];
  return holders.map(({ kind, name, role, application, state, heldMs }) => {
    // Of a connected standby: its own queries hold the snapshot.
    if (kind === 'slot' && state === 'active') {
      return ok('snapshots', `the replication slot ${name} is active`);
    }
    const since = heldMs === null ? '' : ` for ${duration(heldMs)}`;
    const means =
      'Until it ends, vacuum removes no row that died since: the tables grow, and scans get slower.';
    if (kind === 'slot') {
      return notice('snapshots', `the replication slot ${name} is ${state}`, {
        means: 'It holds WAL, and it may hold a snapshot: the disk fills.',
        todo: 'If nothing is to read it any more, drop it.',
        sql: calling('pg_drop_replication_slot', literal(name)),
      });
    }
    if (kind === 'session') {
      const who = `${role ?? 'unknown'}${application ? `, ${application}` : ''}, ${state ?? 'unknown'}`;
      return notice('snapshots', `the session ${name} (${who}) holds a snapshot${since}`, {
        means,
        todo: 'If it is forgotten, end it.',
        sql: calling('pg_terminate_backend', name),
      });
    }
    return problem('snapshots', `the prepared transaction ${name} of ${role} is open${since}`, {
      means: `${means} It survives a restart of the server.`,
      todo: 'Commit it, or roll it back.',
      sql: `ROLLBACK PREPARED ${literal(name)}`,
    });
  });
}

/** Whatever the path of the session that a person pastes it into. */
const calling = (name: string, argument: string): string =>
  `SELECT pg_catalog.${name}(${argument})`;

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

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
    const session = await listen(client, channel);
    const hearing = await hears(client, channel, {
      query: (sql, parameters) => dataSource.query(sql, parameters),
    });
    await unlisten(client, channel, session);
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
