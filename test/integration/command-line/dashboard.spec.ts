import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { commandLine } from './support/command-line.js';
import { openDatabase } from './support/database.js';
import type { Session } from '../../support/dashboard-parts.js';

const database = openDatabase();

/** Serves it while `look` runs, and ends it as Ctrl-C does. */
async function whileServed(
  args: readonly string[],
  look: (url: string) => Promise<void>,
): Promise<{ exitCode: number; err: string }> {
  let url = '';
  let looked: Promise<void> | undefined;
  const ran = await commandLine(database.url, ['dashboard', '--port', '0', ...args], {
    onOut: (line) => (url = line),
    onErr: (_, interrupt) => (looked ??= look(url).finally(interrupt)),
  });
  await looked;
  return ran;
}

const session = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${url}api/session`, { headers });
  return { status: response.status, body: (await response.json()) as Session };
};

describe('dashboard', () => {
  it('shows its page and reads, and may change nothing', async () => {
    const { exitCode, err } = await whileServed(['--by', 'anna'], async (url) => {
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
      const page = await fetch(url);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await session(url)).toMatchObject({ body: { who: 'anna', actions: ['view'] } });
    });
    expect({ exitCode, err }).toEqual({
      exitCode: 0,
      err: 'It changes nothing; --allow-changes lets it. Ctrl-C ends it.\n',
    });
  });

  it('may change delays, and show payloads, when it is told so', async () => {
    await whileServed(['--allow-changes', '--payload'], async (url) => {
      const { body } = await session(url);
      expect(body.actions).toEqual(expect.arrayContaining(['viewPayloads', 'cancel', 'create']));
    });
  });

  it('answers only what comes from this machine and asks for it', async () => {
    await whileServed([], async (url) => {
      expect(await session(url, { 'x-forwarded-for': '10.0.0.1' })).toMatchObject({ status: 404 });
      expect((await fetch(`${url}nothing`)).status).toBe(404);
    });
  });

  let taken: Server;
  beforeAll(async () => {
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
  });
  afterAll(() => void taken.close());

  it.each([
    ['a word', 'web', /--port must be a number from 0 to 65535/],
    ['too large', '70000', /--port must be a number from 0 to 65535/],
    ['taken', undefined, /port \d+ is taken: choose another one with --port/],
  ])('refuses a port that is %s', async (_, port, message) => {
    const free = String((taken.address() as { port: number }).port);
    const { exitCode, err } = await commandLine(database.url, [
      'dashboard',
      '--port',
      port ?? free,
    ]);
    expect({ exitCode, err }).toEqual({ exitCode: 2, err: expect.stringMatching(message) });
  });
});
