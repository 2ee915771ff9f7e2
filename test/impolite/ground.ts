import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { OwnServer } from '../servers/support/own-server.js';
import { UNDURABLE } from '../support/test-server.js';
import { JOURNAL } from './journal.js';

/** The server that programs run on: nobody else's. */
export class Ground {
  static async open(): Promise<Ground> {
    const server = await OwnServer.create({
      ...UNDURABLE,
      deadlock_timeout: '50ms',
      authentication_timeout: '2s',
    });
    try {
      await server.start();
      await server.migrate();
      for (const statement of JOURNAL) await server.sql(statement);
      // Not by way of its template, of which nobody may be a guest while it is copied.
      const url = new URL(server.url);
      url.pathname = '/template1';
      const admin = new Client({ connectionString: url.href });
      await admin.connect();
      return new Ground(server, admin);
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  private constructor(
    private readonly server: OwnServer,
    private readonly admin: Client,
  ) {}

  /** A database with the library's tables and the journal. @param settings of all its sessions */
  async database(settings: Readonly<Record<string, string>> = {}): Promise<{
    url: string;
    drop: () => Promise<void>;
  }> {
    const name = `impolite_${randomBytes(5).toString('hex')}`;
    await this.admin.query(`CREATE DATABASE ${name} TEMPLATE postgres`);
    for (const [setting, value] of Object.entries(settings)) {
      await this.admin.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    }
    const url = new URL(this.server.url);
    url.pathname = `/${name}`;
    const drop = async (): Promise<void> => {
      await this.admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    };
    return { url: url.href, drop };
  }

  /**
   * From now on a commit that waits for standbys waits for one that never comes; or no longer does.
   * Meanwhile no database can be made or dropped: that waits for every session of the server.
   */
  async letCommitsHang(hang: boolean): Promise<void> {
    const names = hang ? 'nobody' : '';
    await this.admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await this.admin.query('SELECT pg_reload_conf()');
  }

  async close(): Promise<void> {
    await this.admin.end();
    await this.server.remove();
  }
}
