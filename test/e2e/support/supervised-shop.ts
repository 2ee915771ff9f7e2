import type { ProcessState } from '../../../src/shop/processes/processes.js';
import { NodeProcess, type Exit } from '../../support/node-process.js';
import { until } from '../../support/until.js';
import { FeedClient } from './feed-client.js';

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

export const untilDead = (pids: number[]): Promise<boolean> =>
  until(
    () => pids.some(isAlive),
    (anyAlive) => !anyAlive,
  );

/** The shop as `npm start` runs it: a supervisor and its processes. */
export class SupervisedShop {
  private constructor(
    readonly process: NodeProcess,
    readonly url: string,
  ) {}

  static async start(
    databaseUrl: string,
    env: Record<string, string> = {},
  ): Promise<SupervisedShop> {
    const shop = NodeProcess.start('src/main.ts', {
      env: { DATABASE_URL: databaseUrl, PORT: '0', ...env },
    });
    const [, url] = await shop.waitForOutput(/The shop is open: +(\S+)/);
    return new SupervisedShop(shop, url!);
  }

  stop(): Promise<Exit | undefined> {
    return this.process.kill('SIGINT');
  }

  async processes(): Promise<ProcessState[]> {
    return (await fetch(`${this.url}/processes`)).json() as Promise<ProcessState[]>;
  }

  async names(): Promise<string[]> {
    return (await this.processes()).map(({ name }) => name);
  }

  async pids(): Promise<number[]> {
    return (await this.processes()).map(({ pid }) => pid!);
  }

  async post(path: string, body: object): Promise<{ id: string }> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    return response.json() as Promise<{ id: string }>;
  }

  async place(): Promise<string> {
    return (await this.post('/orders', { items: [{ sku: 'TEA-SAMPLE', quantity: 1 }] })).id;
  }

  /** A watcher of each process: connections go to them in turn, but for one that is busy. */
  async watchBoth(): Promise<FeedClient[]> {
    const one = await this.watch();
    const { servedBy } = await one.when(() => true);
    const other = await until(
      async () => {
        const client = await this.watch();
        if ((await client.when(() => true)).servedBy !== servedBy) return client;
        client.close();
        return undefined;
      },
      (client) => client !== undefined,
    );
    return [one, other!];
  }

  /** A snapshot from whichever process lives. */
  watch(): Promise<FeedClient> {
    return until(
      () => FeedClient.open(this.url).catch(() => undefined),
      (client) => client !== undefined,
    ) as Promise<FeedClient>;
  }
}
