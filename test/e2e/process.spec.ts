import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import { Client } from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import { until } from '../support/until.js';

const ORDERS = 40;

describe('the shop as a process', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createEmptyDatabase();
  });
  afterEach(() => database.drop({ force: true }));

  const start = (env: Record<string, string> = {}, args: string[] = []): NodeProcess =>
    NodeProcess.start('src/main.ts', {
      args,
      env: { DATABASE_URL: database.url, PORT: '0', ...env },
    });

  it('in production is one process, and offers neither races nor the death of processes', async () => {
    const shop = start({}, ['--prod']);
    const [, port] = await shop.waitForOutput(/listens on 0\.0\.0\.0:(\d+)/);
    const answer = await fetch(`http://127.0.0.1:${port}/processes`);
    expect(answer.status).toBe(404);
    expect(await shop.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('takes the two signals of one Ctrl+C under npm for one', async () => {
    const shop = start();
    await urlOf(shop);
    process.kill(shop.pid, 'SIGINT');
    expect(await shop.kill('SIGINT')).toEqual({ code: 0, signal: null });
  });

  it.each([
    [{ ORDER_PAY_WITHIN: 'soon' }, /^ORDER_PAY_WITHIN: .*\n$/],
    [
      { DATABASE_URL: '', ORDER_RATE_AFTER: '2 days' },
      /^ORDER_RATE_AFTER: .*\nDATABASE_URL: .*\n$/,
    ],
  ])('says in a line what is wrong with %j', async (env, message) => {
    const shop = start(env, ['--prod']);
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    expect(shop.output).toMatch(message);
  });

  it('says in a line that the port is in use', async () => {
    const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    const address = await until(
      () => Promise.resolve(other.address()),
      (found) => found !== null,
    );
    const PORT = typeof address === 'object' && address ? String(address.port) : '';
    const shop = start({ PORT });
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    expect(shop.output).toMatch(
      /^Port \d+ is in use by another program[^\n]*PORT=\d+ npm start\n$/,
    );
    await new Promise((done) => other.close(done));
  });

  it('killed beside a second one on a database that was empty: every order still closes, once; then it stops with 0', async () => {
    const env = { ORDER_PAY_WITHIN: '4s' };
    const [victim, survivor] = [start(env), start(env)];
    const urls = await Promise.all([urlOf(victim), urlOf(survivor)]);
    const body = JSON.stringify({ items: [{ sku: 'TEA-SAMPLE', quantity: 1 }] });
    await Promise.all(
      Array.from({ length: ORDERS }, (_, i) => postJson(`${urls[i % 2]}/orders`, body)),
    );

    await victim.kill('SIGKILL');

    const closed = await until(
      () => countClosed(database.url),
      (n) => n === ORDERS,
      {
        // Longer than a lease: what the killed one had claimed comes back when that is over.
        withinMs: 45_000,
      },
    );
    expect(closed).toBe(ORDERS);
    const invariants = await (await fetch(`${urls[1]}/invariants`)).json();
    expect(invariants).toMatchObject({ ok: true });
    expect(await survivor.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});

async function urlOf(shop: NodeProcess): Promise<string> {
  const [, url] = await shop.waitForOutput(/The shop is open: +(\S+)/);
  return url!;
}

async function postJson(url: string, body: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

async function countClosed(url: string): Promise<number> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM orders WHERE status = 'CLOSED'`,
    );
    return rows[0]!.n;
  } finally {
    await client.end();
  }
}
