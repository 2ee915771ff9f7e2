import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/embedded-postgres/free-port.js';
import { ServerProcess, temporaryFolder } from '../server/server-process.js';
import { ShopClient } from './client.js';
import { COLLECTED, type ProcessReading } from './probe.js';

const ROOT = new URL('../../', import.meta.url);

/** The sample shop as `npm start` runs it, in processes of its own. */
export class MeasuredShop {
  private constructor(
    readonly url: string,
    private readonly server: ServerProcess,
    private readonly folder: string,
  ) {}

  /** @param env the shop's settings, as its users write them. Resolves when it answers. */
  static async start(databaseUrl: string, env: Record<string, string> = {}): Promise<MeasuredShop> {
    const folder = await temporaryFolder('shop');
    const port = await freePort(0);
    const loaded = ['tools/swc-loader.mjs', 'bench/shop/probe.ts'].map((path) => [
      '--import',
      new URL(path, ROOT).href,
    ]);
    const program = fileURLToPath(new URL('src/main.ts', ROOT));
    const command = [process.execPath, ...loaded.flat(), program];
    const server = await ServerProcess.start(command, folder, {
      DATABASE_URL: asSomebodyElses(databaseUrl),
      HOST: '127.0.0.1',
      PORT: String(port),
      BENCH_PROBE_FOLDER: folder,
      ...env,
    });
    const url = `http://127.0.0.1:${port}`;
    await server.untilReady(async () => {
      const client = new ShopClient(url);
      const { status } = await client.send('GET', '/skus').finally(() => client.close());
      if (status !== 200) throw new Error(`the shop answered ${status}`);
    });
    return new MeasuredShop(url, server, folder);
  }

  /** Of all its processes, by name. */
  async readings(options: { collected?: boolean } = {}): Promise<ProcessReading[]> {
    const sockets = (await readdir(this.folder)).filter((name) => name.endsWith('.sock'));
    const readings: ProcessReading[] = [];
    // One after the other: who collects garbage has a core to itself.
    for (const name of sockets) {
      const client = new ShopClient({ socketPath: join(this.folder, name) });
      const answer = await client.send('GET', options.collected ? COLLECTED : '/');
      readings.push(JSON.parse(answer.body) as ProcessReading);
      client.close();
    }
    return readings.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  cpuSeconds(): Promise<number> {
    return this.server.cpuSeconds();
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}

/** The shop joins those who keep an embedded Postgres running, which it knows by this address. */
function asSomebodyElses(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (url.hostname === '127.0.0.1') url.hostname = 'localhost';
  return url.href;
}
