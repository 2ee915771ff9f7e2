import type { ProcessState } from '../../../src/shop/processes/processes.js';
import { NodeProcess, type Exit } from '../../support/node-process.js';
import { until } from '../../support/until.js';
import { FeedClient } from './feed-client.js';

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

  async place(quantity = 1): Promise<string> {
    const response = await fetch(`${this.url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ items: [{ sku: 'TEA-SAMPLE', quantity }] }),
    });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    return ((await response.json()) as { id: string }).id;
  }

  /** A watcher of each process: connections go to them in turn. */
  async watchBoth(): Promise<FeedClient[]> {
    const watching = [await FeedClient.open(this.url), await FeedClient.open(this.url)];
    for (const client of watching) await client.when(() => true);
    return watching;
  }

  /** A snapshot from whichever process lives. */
  watch(): Promise<FeedClient> {
    return until(
      () => FeedClient.open(this.url).catch(() => undefined),
      (client) => client !== undefined,
    ) as Promise<FeedClient>;
  }
}
