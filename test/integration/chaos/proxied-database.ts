import { Client, type ClientConfig } from 'pg';
import { openProxy } from '../../chaos/proxy/proxy.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

/** A database of a test's own with a table `written`, and the proxy before it. */
export class ProxiedDatabase {
  readonly #clients: Client[] = [];

  static async open(): Promise<ProxiedDatabase> {
    const database = await createTestDatabase();
    const direct = new Client({ connectionString: database.url });
    await direct.connect();
    await direct.query('CREATE TABLE written (n int)');
    return new ProxiedDatabase(database, await openProxy(database.url), direct);
  }

  private constructor(
    private readonly database: TestDatabase,
    readonly proxy: Awaited<ReturnType<typeof openProxy>>,
    /** Past the proxy. */
    readonly direct: Client,
  ) {}

  /** Through the proxy. */
  async connect(config: ClientConfig = {}): Promise<Client> {
    const client = new Client({ ...config, connectionString: this.proxy.url });
    this.#clients.push(client);
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  async written(): Promise<number[]> {
    const { rows } = await this.direct.query<{ n: number }>('SELECT n FROM written ORDER BY n');
    return rows.map(({ n }) => n);
  }

  async sessionExists(pid: number): Promise<boolean> {
    const sql = 'SELECT FROM pg_stat_activity WHERE pid = $1';
    return (await this.direct.query(sql, [pid])).rowCount === 1;
  }

  async sessionEnds(pid: number): Promise<void> {
    while (await this.sessionExists(pid));
  }

  async close(): Promise<void> {
    this.proxy.heal();
    await this.proxy.close();
    for (const client of [...this.#clients, this.direct]) await client.end().catch(() => {});
    await this.database.drop();
  }
}

export async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? 0;
}
