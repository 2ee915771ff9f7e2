import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort, HOST } from '../../../src/embedded-postgres/free-port.js';
import { operatingUser } from '../../../src/embedded-postgres/operating-user.js';
import { until } from '../../support/until.js';
import { Leashed } from './leashed.js';
import { findProgram } from './programs.js';

/** A pgpool in front of one server. */
export class Pgpool {
  /** Undefined where the program is not installed. */
  static program(): string | undefined {
    return findProgram('pgpool');
  }

  static async start(serverUrl: string, settings: Record<string, string>): Promise<Pgpool> {
    const program = Pgpool.program();
    if (program === undefined) throw new Error('pgpool is not installed');
    const user = await operatingUser('');
    const folder = await mkdtemp(join(tmpdir(), 'delay-queue-pgpool-'));
    const url = new URL(serverUrl);
    const serverPort = url.port || '5432';
    url.hostname = HOST;
    url.port = String(await freePort(0));
    const password = decodeURIComponent(url.password);
    const files = {
      pool_passwd: `${url.username}:TEXT${password}\n`,
      'pool_hba.conf': `host all all ${HOST}/32 scram-sha-256\n`,
      'pcp.conf': '',
      'pgpool.conf': textOf({
        listen_addresses: HOST,
        port: url.port,
        pcp_listen_addresses: '',
        pcp_port: String(await freePort(0)),
        unix_socket_directories: folder,
        pcp_socket_dir: folder,
        pid_file_name: join(folder, 'pgpool.pid'),
        logdir: folder,
        backend_clustering_mode: 'streaming_replication',
        backend_hostname0: HOST,
        backend_port0: serverPort,
        backend_flag0: 'ALLOW_TO_FAILOVER',
        num_init_children: '20',
        sr_check_period: '0',
        enable_pool_hba: 'on',
        pool_passwd: 'pool_passwd',
        ...settings,
      }),
    };
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      await writeFile(path, text, { mode: 0o600 });
      if (user) await chown(path, user.uid, user.gid);
    }
    await chmod(folder, 0o700);
    if (user) await chown(folder, user.uid, user.gid);
    const args = ['-n', '-f', join(folder, 'pgpool.conf'), '-a', join(folder, 'pool_hba.conf')];
    const process = Leashed.start(program, [...args, '-F', join(folder, 'pcp.conf')], {
      user,
      lastSignal: 'QUIT',
    });
    const pgpool = new Pgpool(url.href, folder, process);
    await until(
      () => pgpool.#answers(),
      (said) => said === 'yes',
      { tell: (said) => `${said}\n${process.output}` },
    );
    return pgpool;
  }

  private constructor(
    /** Leads through it to the database of the server's URL. */
    readonly url: string,
    private readonly folder: string,
    private readonly process: Leashed,
  ) {}

  async stop(): Promise<void> {
    await this.process.end('SIGINT');
    await rm(this.folder, { recursive: true, force: true });
  }

  async #answers(): Promise<string> {
    const client = new Client({ connectionString: this.url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('SELECT 1');
      return 'yes';
    } catch (error) {
      return String(error);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

const textOf = (settings: Record<string, string>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = '${value}'\n`)
    .join('');
