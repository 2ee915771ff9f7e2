import type { Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import type { DelayQueueOptions } from 'nestjs-delay-queue';
import type { Client } from 'pg';
import { compile, OURS, prepare } from '../adapters/ours.js';
import type { Bench } from '../run/scenario.js';
import { withClient } from '../server/bench-server.js';
import { openSite, type Site } from './site.js';

/**
 * An application of the delay queue in this process, on a database of its own.
 *
 * @param fill delays that are there before it starts
 * @param use given the function that starts it, and where it runs
 */
export async function inThisProcess<Answer>(
  bench: Bench,
  fill: (client: Client) => Promise<void>,
  handler: Type,
  options: DelayQueueOptions,
  use: (start: () => Promise<unknown>, app: TestingModule, site: Site) => Promise<Answer>,
): Promise<Answer> {
  const site = await openSite(bench, OURS, 'in this process', prepare);
  await withClient(site.url, async (client) => {
    await fill(client);
    // As a server has it that was up for a while.
    await client.query('ANALYZE');
  });
  const app = await compile(site.url, options, [handler]);
  try {
    return await use(() => app.init(), app, site);
  } finally {
    await app.close();
    await site.drop();
  }
}

/** Waits until something has happened so often. */
export class Countdown {
  counted = 0;
  readonly reached: Promise<void>;
  #resolve!: () => void;

  constructor(private readonly target: number) {
    this.reached = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (target === 0) this.#resolve();
  }

  count(): void {
    this.counted += 1;
    if (this.counted === this.target) this.#resolve();
  }
}
