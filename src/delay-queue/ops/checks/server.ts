import type { Client } from 'pg';
import { inWords } from '../../core/index.js';
import {
  allTables,
  type Check,
  type Finding,
  functionSignatures,
  hears,
  judge,
  notice,
  ok,
  problem,
  qualifiedTables,
  reader,
  SERVER_CHECKS,
  startListening,
  stopListening,
  type TextAnswer,
  texts,
  TIME_LIMIT_MS_MIN,
  TIME_LIMITS,
} from '../../core/ops.js';
import type { Examined } from './look.js';
import { type Right, RIGHT, rightsSql, type ServerNow, settingsSql } from './server.sql.js';
import { callSql, countText } from './words.js';

/** Versions, encoding, and what a node refuses to start with. */
export function judgeServer(found: ServerNow, packageVersion: string): Finding[] {
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

/** A setting, by name, with the role of the session. */
type Settings = Readonly<Record<string, string | undefined>>;

interface Setting {
  name: string;
  check: string;
  level?: 'problem';
  wrong: string | ((value: string) => boolean);
  right: string;
  /** Default: the role sets it. */
  isServers?: true;
  found?: (value: string) => string;
  means: string;
  todo?: string;
}

const GROWS = 'Nothing removes dead rows: the tables and their indexes keep growing.';

const SETTINGS: readonly Setting[] = [
  ...['autovacuum', 'track_counts'].map((name) => ({
    name,
    check: 'autovacuum',
    level: 'problem' as const,
    wrong: 'off',
    right: 'on',
    isServers: true as const,
    means: GROWS,
  })),
  {
    name: 'synchronous_commit',
    check: 'durability',
    wrong: 'off',
    right: 'on',
    means:
      'A crash of the server undoes its last commits: a delay that schedule confirmed is gone, and an attempt runs again.',
  },
  {
    name: 'fsync',
    check: 'durability',
    wrong: 'off',
    right: 'on',
    isServers: true,
    means: 'A crash of the machine may destroy the database.',
  },
  {
    name: 'full_page_writes',
    check: 'durability',
    wrong: 'off',
    right: 'on',
    isServers: true,
    means: 'A crash of the machine may destroy pages.',
  },
  {
    name: 'session_replication_role',
    check: 'durability',
    wrong: 'replica',
    right: 'origin',
    means: 'Triggers and foreign keys of the application do not fire.',
  },
  {
    name: 'jit',
    check: 'jit',
    wrong: 'on',
    right: 'off',
    means:
      'The engine turns it off in its own sessions. In those of the application, and behind a pooler, compiling a statement may take longer than running it.',
    todo: 'Turn it off for the role of the application.',
  },
  {
    name: 'idle_in_transaction_session_timeout',
    check: 'idle_in_transaction_session_timeout',
    wrong: '0',
    right: "'5min'",
    found: () => 'there is no limit for idle transactions',
    means:
      'A session that is left inside a transaction holds its rows and a snapshot until it ends.',
    todo: 'Give the roles of applications, people and reports a limit that is longer than their longest pause.',
  },
  ...TIME_LIMITS.map((name) => ({
    name,
    check: 'time-limits',
    wrong: (ms: string) => Number(ms) > 0 && Number(ms) < TIME_LIMIT_MS_MIN,
    right: "'30s'",
    found: (ms: string) => `${name} is ${ms} ms for this role`,
    means: 'Behind a pooler, it ends a claim of many rows on a busy server.',
    todo: 'Give the role of the application at least 5 s.',
  })),
];

const settingCheck = ({
  name,
  check,
  wrong,
  right,
  isServers,
  means,
  ...its
}: Setting): Check<Settings & { role: string }> => ({
  id: check,
  level: its.level ?? 'notice',
  isWrong: ({ [name]: value }) =>
    value !== undefined && (typeof wrong === 'string' ? value === wrong : wrong(value)),
  found: ({ [name]: value = '' }) => its.found?.(value) ?? `${name} is ${value}`,
  means,
  todo:
    its.todo ??
    (isServers ? 'Turn it on.' : 'Set it back where the role, the database or the server set it.'),
  sql: ({ role }) =>
    isServers
      ? `ALTER SYSTEM SET ${name} = ${right}; ${callSql('pg_reload_conf')}`
      : `ALTER ROLE ${role} SET ${name} = ${right}`,
});

const SETTING_CHECKS = SETTINGS.map(settingCheck);

export const judgeSettings = (settings: Settings, role: string): Finding[] =>
  judge(SETTING_CHECKS, { ...settings, role });

export async function findSettings({ runner, server }: Examined): Promise<Finding[]> {
  const names = texts(SETTINGS.map(({ name }) => name));
  const rows = await runner.query<{ name: string; setting: string }>(settingsSql(), [names]);
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  return judgeSettings(settings, server.role);
}

/** What the engine of a node opens with the default `connections`; a pool and `transactionalConnections` come on top. */
const CONNECTIONS_OF_AN_ENGINE = 3 + 3 + 1;

export function judgeConnections(
  { connections: open, connectionsMax: most }: ServerNow,
  nodes: number,
): Finding {
  const engines = nodes * CONNECTIONS_OF_AN_ENGINE;
  const text = `${open} of ${most} connections are open`;
  if (open > most * 0.8) {
    return problem('connections', text, {
      means: 'The server will soon refuse connections.',
      todo: 'Raise max_connections, make the pools or transactionalConnections smaller, or put PgBouncer in between.',
      // Twice as many as now, a round number.
      sql: `ALTER SYSTEM SET max_connections = ${Math.ceil(most / 50) * 100}; -- needs a restart`,
    });
  }
  const found = `${text}; beside their pools and transactionalConnections, whose sizes are unknown here, ${countText(nodes, 'live node')} may open ${engines}`;
  if (engines <= most) return ok('connections', found);
  return notice('connections', found, {
    means: 'At their peak, and in a deploy, the server would refuse some.',
    todo: 'Raise max_connections, or make the pools or transactionalConnections smaller.',
  });
}

/** Rights of a role that writes, or of one that only reads. */
export async function findRights({
  runner,
  server: { role },
  ...on
}: Examined): Promise<Finding[]> {
  const rows = await runner.query<TextAnswer>(rightsSql(), [
    on.schema,
    texts(allTables(on.tables)),
    texts(functionSignatures(on.tables)),
  ]);
  const rights = rows.map(reader(RIGHT));
  const lacking = rights.filter(({ has }) => has === 'false');
  if (lacking.length === 0) return [ok('rights', `${role} may do all that a node does`)];
  const { schema } = qualifiedTables(on.schema);
  const sql =
    `GRANT USAGE ON SCHEMA ${schema} TO ${role}; ` +
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}; ` +
    `GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}; ` +
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role}`;
  if (!rights.some(isRightToWrite)) {
    return [
      notice('rights', `${role} may not write`, {
        means: 'This suits a role that only reads. A node, and a change, need more.',
        todo: 'Nothing, if the role is only meant to read.',
        sql,
      }),
    ];
  }
  const which = lacking.map(({ privilege, name }) => `${privilege} on ${name}`).join(', ');
  return [
    problem('rights', `${role} lacks ${which}`, {
      means: 'The first call that needs it fails.',
      todo: 'Grant the rights as the owner of the tables.',
      sql,
    }),
  ];
}

const isRightToWrite = ({ kind, privilege, has }: Right): boolean =>
  kind === 'table' && privilege !== 'SELECT' && has === 'true';

/** The machine's clock may be off by any time without effect: it is told, not judged. */
export function judgeClock(databaseMs: number, sentMs: number, answeredMs: number): Finding {
  const offMs = databaseMs - (sentMs + answeredMs) / 2;
  const about = `the clock of the database is ${inWords(Math.abs(offMs))} ${offMs < 0 ? 'behind' : 'ahead of'} that of this machine`;
  if (Math.abs(offMs) < 1_000 + (answeredMs - sentMs)) return ok('clock', about);
  return notice('clock', about, {
    means:
      "Only the database's clock decides when a delay is due. If it is the wrong one, every delay is off.",
    todo: 'Compare both with another clock; run chrony or the like on the server.',
  });
}

/** Listens on one connection and notifies from another, as nodes do. */
export async function tryListen(dataSource: Examined['dataSource']): Promise<Finding> {
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
    'A pooler in transaction mode is in between. Nodes work, but load every second instead of hearing of new delays at once.',
  todo: 'Give the application a direct connection, if it matters.',
});
