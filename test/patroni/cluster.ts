import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type QueryResultRow } from 'pg';
import { freePort, HOST } from '../../src/embedded-postgres/free-port.js';
import { operatingUser, type OperatingUser } from '../../src/embedded-postgres/operating-user.js';
import { Leashed } from '../servers/support/leashed.js';
import { serverFolder } from '../support/server-folder.js';
import { childrenOf, signal } from './processes.js';
import type { Programs } from './programs.js';

const NAMES = ['a', 'b', 'c'] as const;
export type NodeName = (typeof NAMES)[number];

/** What HAProxy does with the sessions of a server that it takes for dead. */
export type Sessions = 'left' | 'shut';

const PASSWORD = 'a-password-of-this-test';
const READY_WITHIN_MS = 180_000;
const SWITCHOVER_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 200;

/** What `docs/operations.md` asks of the server. */
const PARAMETERS = {
  max_connections: 200,
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  client_connection_check_interval: '10s',
};

/** A dead primary is replaced when its key has run out. */
const TTL_S = 15;

/** Three Postgres under Patroni, with synchronous replication, an etcd that they agree by, and an HAProxy in front. */
export class PatroniCluster {
  readonly #nodes = new Map<NodeName, PatroniNode>();
  #etcd: Leashed | undefined;
  /** The last is the one that listens; those before it have sessions left. */
  #proxies: Leashed[] = [];
  #proxyPort = 0;

  static async start(programs: Programs): Promise<PatroniCluster> {
    const folder = serverFolder('delay-queue-patroni');
    const user = await operatingUser('');
    await mkdir(folder, { mode: 0o755 });
    await own(folder, user);
    const cluster = new PatroniCluster(programs, folder, user);
    try {
      await cluster.#start();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  private constructor(
    private readonly programs: Programs,
    private readonly folder: string,
    private readonly user: OperatingUser | undefined,
  ) {}

  /** Through HAProxy, as the application's role. */
  get url(): string {
    return `postgresql://app:${PASSWORD}@${HOST}:${this.#proxyPort}/app`;
  }

  get etcd(): Leashed {
    if (this.#etcd === undefined) throw new Error('etcd was not started');
    return this.#etcd;
  }

  node(name: NodeName): PatroniNode {
    return this.#nodes.get(name) as PatroniNode;
  }

  /** The node that has the key of the leader, and takes writes; undefined while none does. */
  async primary(): Promise<PatroniNode | undefined> {
    for (const node of this.#nodes.values()) if (await node.isAt('primary')) return node;
    return undefined;
  }

  async replicas(): Promise<PatroniNode[]> {
    const found: PatroniNode[] = [];
    for (const node of this.#nodes.values()) if (await node.isAt('replica')) found.push(node);
    return found;
  }

  /** The one that a commit waits for. Patroni names a standby by its node. */
  async synchronousReplica(): Promise<PatroniNode> {
    return await this.#until('no synchronous replica', async () => {
      const [row] = await (await this.primary())!.sql<{ name: NodeName }>(
        `SELECT application_name AS name FROM pg_stat_replication WHERE sync_state = 'sync'`,
        [],
        'postgres',
      );
      return row && this.#nodes.get(row.name);
    });
  }

  /** Resolves with the node that is the primary, once another one than that is. */
  async promotedInsteadOf(before: PatroniNode | undefined): Promise<PatroniNode> {
    return await this.#until('no other primary', async () => {
      const now = await this.primary();
      return now !== undefined && now !== before ? now : undefined;
    });
  }

  /** Resolves when there is a primary, and both others follow it, one of them synchronously. */
  async whole(): Promise<PatroniNode> {
    for (const node of this.#nodes.values()) node.start();
    return await this.#until('the cluster is not whole', async () => {
      const primary = await this.primary();
      if (primary === undefined || (await this.replicas()).length < 2) return undefined;
      const rows = await primary.sql<{ sync_state: string }>(
        `SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'`,
        [],
        'postgres',
      );
      const isWhole = rows.length === 2 && rows.some(({ sync_state: is }) => is === 'sync');
      return isWhole ? primary : undefined;
    });
  }

  /** On the primary, past HAProxy. */
  async sql<Row extends QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const primary = await this.primary();
    if (primary === undefined) throw new Error('there is no primary');
    return await primary.sql<Row>(text, values);
  }

  /** HAProxy as it is to be, on the port that it had; one that was there gives the port up, and keeps its sessions. */
  async proxy(sessions: Sessions, only?: PatroniNode): Promise<void> {
    this.#proxyPort ||= await freePort(0);
    const file = join(this.folder, `haproxy-${this.#proxies.length}.cfg`);
    await writeFile(file, this.#haproxy(sessions, only));
    await own(file, this.user);
    const before = this.#proxies.at(-1)?.pid;
    const takeOver = before === undefined ? [] : ['-sf', String(before)];
    const args = ['-db', '-f', file, ...takeOver];
    this.#proxies.push(this.#run(this.programs.haproxy, args));
    await pause(1_000);
  }

  /** Ends those that have sessions left, and with them the sessions. */
  async endOldProxies(): Promise<void> {
    for (const old of this.#proxies.splice(0, this.#proxies.length - 1)) await old.end('SIGKILL');
  }

  /** Ends HAProxy, and every session through it. */
  async endProxies(): Promise<void> {
    for (const each of this.#proxies.splice(0)) await each.end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.endProxies();
    for (const node of this.#nodes.values()) await node.kill();
    if (this.#etcd?.pid !== undefined) signal([this.#etcd.pid], 'SIGCONT');
    await this.#etcd?.end('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const [client, peer] = [await freePort(0), await freePort(0)];
    const options = {
      name: 'one',
      'data-dir': join(this.folder, 'etcd'),
      'listen-client-urls': at(client),
      'advertise-client-urls': at(client),
      'listen-peer-urls': at(peer),
      'initial-advertise-peer-urls': at(peer),
      'initial-cluster': `one=${at(peer)}`,
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    this.#etcd = this.#run(this.programs.etcd, ['--unsafe-no-fsync', ...args]);
    for (const name of NAMES) {
      const folder = join(this.folder, name);
      await mkdir(folder, { mode: 0o700 });
      await own(folder, this.user);
      const [port, restPort] = [await freePort(0), await freePort(0)];
      const file = join(folder, 'patroni.yml');
      const setup = { name, folder, port, restPort, etcdPort: client };
      await writeFile(file, patroniYaml(setup, this.programs));
      await own(file, this.user);
      const run = (): Leashed => this.#run(this.programs.patroni, [file]);
      this.#nodes.set(name, new PatroniNode(name, port, restPort, join(folder, 'data'), run));
    }
    this.#nodes.get('a')?.start();
    await this.#until('no first primary', () => this.primary());
    const primary = await this.whole();
    await primary.sql(`CREATE ROLE app LOGIN PASSWORD '${PASSWORD}'`, [], 'postgres');
    await primary.sql('CREATE DATABASE app OWNER app', [], 'postgres');
  }

  #run(program: string, args: string[]): Leashed {
    return Leashed.start(program, args, { user: this.user, lastSignal: 'KILL' });
  }

  #haproxy(sessions: Sessions, only: PatroniNode | undefined): string {
    const nodes = only ? [only] : [...this.#nodes.values()];
    const down = sessions === 'shut' ? ' on-marked-down shutdown-sessions' : '';
    return [
      'global',
      '  maxconn 1000',
      'defaults',
      '  mode tcp',
      '  retries 2',
      '  timeout connect 4s',
      '  timeout client 30m',
      '  timeout server 30m',
      '  timeout check 3s',
      'listen primary',
      `  bind ${HOST}:${this.#proxyPort}`,
      ...(only
        ? []
        : [
            '  option httpchk OPTIONS /primary',
            '  http-check expect status 200',
            `  default-server inter 1s fall 3 rise 2${down}`,
          ]),
      ...nodes.map(
        ({ name, port, restPort }) =>
          `  server ${name} ${HOST}:${port} maxconn 200${only ? '' : ` check port ${restPort}`}`,
      ),
      '',
    ].join('\n');
  }

  async #until<Seen>(what: string, look: () => Promise<Seen | undefined>): Promise<Seen> {
    const giveUpAtMs = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const seen = await look().catch(() => undefined);
      if (seen !== undefined) return seen;
      if (performance.now() > giveUpAtMs) throw new Error(`${what}:\n${this.#said()}`);
      await pause(LOOK_EVERY_MS);
    }
  }

  #said(): string {
    const nodes = [...this.#nodes.values()].map(({ name, output }) => `${name}: ${output}`);
    return [...nodes, `etcd: ${this.#etcd?.output}`].map((text) => text.slice(-2_000)).join('\n');
  }
}

/** One Patroni and its Postgres. */
export class PatroniNode {
  #patroni: Leashed | undefined;

  constructor(
    readonly name: NodeName,
    readonly port: number,
    readonly restPort: number,
    private readonly dataPath: string,
    private readonly run: () => Leashed,
  ) {}

  /** Harmless when it runs. */
  start(): void {
    if (this.#patroni?.running !== true) this.#patroni = this.run();
  }

  get output(): string {
    return this.#patroni?.output ?? '';
  }

  /** What its Patroni says of it. */
  async isAt(role: 'primary' | 'replica'): Promise<boolean> {
    try {
      const url = `http://${HOST}:${this.restPort}/${role}`;
      return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).status === 200;
    } catch {
      return false;
    }
  }

  /** Past HAProxy, as the superuser. */
  async sql<Row extends QueryResultRow>(
    text: string,
    values: unknown[] = [],
    database = 'app',
  ): Promise<Row[]> {
    const client = new Client({
      connectionString: `postgresql://postgres:${PASSWORD}@${HOST}:${this.port}/${database}`,
      connectionTimeoutMillis: 5_000,
      query_timeout: 30_000,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Hands the role of the primary to another one, which Patroni chooses; as soon as it knows of a synchronous one. */
  async switchover(): Promise<void> {
    const giveUpAtMs = performance.now() + SWITCHOVER_WITHIN_MS;
    for (;;) {
      const answer = await fetch(`http://${HOST}:${this.restPort}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: this.name }),
        headers: { 'Content-Type': 'application/json' },
      });
      if (answer.ok) return;
      const why = await answer.text();
      if (performance.now() > giveUpAtMs) throw new Error(`no switchover: ${why}`);
      await pause(LOOK_EVERY_MS);
    }
  }

  /** The whole of Postgres, at once. Its Patroni lives. */
  async killPostgres(): Promise<void> {
    signal(await this.#postgres(), 'SIGKILL');
  }

  /** Patroni and Postgres, at once. */
  async kill(): Promise<void> {
    const all = await this.#all();
    signal(all, 'SIGKILL');
    await this.#patroni?.end('SIGKILL');
  }

  /** Nothing of it moves, and nothing is closed. */
  async freeze(): Promise<void> {
    signal(await this.#all(), 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    signal(await this.#all(), 'SIGCONT');
  }

  /**
   * Its Postgres goes on where it stood, and Patroni begins anew, as behind a watchdog. One that only goes on believes what it read
   * before: Patroni 3.0.2 took the role of the primary back, and what the new one had committed was lost.
   */
  async thawPostgres(): Promise<void> {
    await this.#patroni?.end('SIGKILL');
    signal(await this.#postgres(), 'SIGCONT');
  }

  async #all(): Promise<number[]> {
    const { pid } = this.#patroni ?? {};
    const patroni = pid === undefined ? [] : [pid, ...(await childrenOf(pid))];
    return [...new Set([...patroni, ...(await this.#postgres())])];
  }

  async #postgres(): Promise<number[]> {
    const file = join(this.dataPath, 'postmaster.pid');
    const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
    return pid > 0 ? [pid, ...(await childrenOf(pid))] : [];
  }
}

const at = (port: number): string => `http://${HOST}:${port}`;

const login = (username: string) => ({ username, password: PASSWORD });

async function own(path: string, user: OperatingUser | undefined): Promise<void> {
  if (user === undefined) return;
  await chown(path, user.uid, user.gid);
  if (path.endsWith('.yml')) await chmod(path, 0o600);
}

interface NodeFiles {
  name: string;
  folder: string;
  port: number;
  restPort: number;
  etcdPort: number;
}

/** JSON is YAML. */
function patroniYaml({ name, folder, port, restPort, etcdPort }: NodeFiles, of: Programs): string {
  return JSON.stringify({
    scope: 'delay-queue',
    name,
    restapi: { listen: `${HOST}:${restPort}`, connect_address: `${HOST}:${restPort}` },
    etcd3: { host: `${HOST}:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: TTL_S,
        loop_wait: 3,
        retry_timeout: 5,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: PARAMETERS },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: `${HOST}:${port}`,
      connect_address: `${HOST}:${port}`,
      data_dir: join(folder, 'data'),
      bin_dir: of.postgresFolder,
      pgpass: join(folder, 'pgpass'),
      authentication: { superuser: login('postgres'), replication: login('replicator') },
      pg_hba: ['all', 'replication'].map(
        (database) => `host ${database} all ${HOST}/32 scram-sha-256`,
      ),
      parameters: { unix_socket_directories: folder, fsync: 'off', wal_keep_size: '256MB' },
    },
  });
}
