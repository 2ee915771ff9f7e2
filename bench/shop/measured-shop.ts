import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/embedded-postgres/free-port.js';
import { cpuSecondsOf } from '../server/process-cpu.js';
import { ServerProcess, temporaryFolder } from '../server/server-process.js';
import { ShopClient } from './client.js';

const ROOT = new URL('../../', import.meta.url);

/** The sample shop as `npm start` runs it, in processes of its own. */
export class MeasuredShop {
  private constructor(
    readonly url: string,
    private readonly server: ServerProcess,
  ) {}

  /** @param env the shop's settings, as its users write them. Resolves when it answers. */
  static async start(databaseUrl: string, env: Record<string, string> = {}): Promise<MeasuredShop> {
    const folder = await temporaryFolder('shop');
    const port = await freePort(0);
    const program = fileURLToPath(new URL('src/main.ts', ROOT));
    const loader = new URL('tools/swc-loader.mjs', ROOT).href;
    const command = [process.execPath, '--import', loader, program];
    const server = await ServerProcess.start(command, folder, {
      DATABASE_URL: notOurs(databaseUrl),
      HOST: '127.0.0.1',
      PORT: String(port),
      ...bundle(),
      ...env,
    });
    const url = `http://127.0.0.1:${port}`;
    await server.untilReady(async () => {
      const client = new ShopClient(url);
      const { status } = await client.send('GET', '/skus').finally(() => client.close());
      if (status !== 200) throw new Error(`the shop answered ${status}`);
    });
    return new MeasuredShop(url, server);
  }

  async cpuSeconds(): Promise<number> {
    return cpuSecondsOf(await this.server.cpuTime());
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}

/** Only tests name one: their shop starts in a third of the time. */
function bundle(): Record<string, string> {
  const { DELAY_QUEUE_BUNDLE: folder } = process.env;
  return folder === undefined ? {} : { DELAY_QUEUE_BUNDLE: folder };
}

/** The shop joins those who keep an embedded Postgres running, which it knows by this address. */
function notOurs(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  if (url.hostname === '127.0.0.1') url.hostname = 'localhost';
  return url.href;
}
