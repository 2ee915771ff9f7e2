import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { listenTrouble } from '../../src/processes/port.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import { SupervisedShop } from './support/supervised-shop.js';

const ESCAPE = '\u001B';

describe('what npm start prints', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createEmptyDatabase();
  });
  afterEach(() => database.drop({ force: true }));

  const failed = async (env: Record<string, string>): Promise<string> => {
    const shop = NodeProcess.start('src/main.ts', {
      env: { DATABASE_URL: database.url, PORT: '0', ...env },
    });
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    return shop.output;
  };

  it('where the page is, first, then how to stop; nothing of Nest and no colours in a pipe; then that it runs already', async () => {
    const shop = await SupervisedShop.start(database.url);
    await shop.process.waitForOutput(/\/docs\n/);
    const lines = shop.process.output.split('\n').filter((line) => line.trim() !== '');
    expect(lines[0]).toBe(`  The shop is open:  ${shop.url}`);
    expect(lines[1]).toMatch(/^ {2}Ctrl\+C stops it\./);
    expect(lines).toHaveLength(5);
    expect(shop.process.output).not.toContain(ESCAPE);

    const { port } = new URL(shop.url);
    expect(await failed({ PORT: port })).toBe(
      `The shop runs already: ${shop.url}. For another one beside it: PORT=${Number(port) + 1} npm start\n`,
    );
    await shop.stop();
  });

  it('the log of Nest when it is asked for, each line with its process', async () => {
    const shop = await SupervisedShop.start(database.url, { LOG_LEVEL: 'log' });
    await shop.process.waitForOutput(/shop-1 info \[NestFactory\] Starting Nest application/);
    await shop.process.waitForOutput(/shop-2 info \[NestFactory\] Starting Nest application/);
    expect(await shop.stop()).toEqual({ code: 0, signal: null });
  });

  it.each([
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL: is no level; write one of fatal, .*\n$/],
    [{ HOST: 'nowhere.invalid' }, /^HOST=nowhere\.invalid is no address of this machine .*\n$/],
    [{ DATABASE_URL: 'postgres' }, /^DATABASE_URL is no URL of a Postgres; .*\n$/],
    [
      { DATABASE_URL: 'postgresql://me:secret@127.0.0.1:1/shop' },
      /^No database answers at 127\.0\.0\.1:1 \(ECONNREFUSED\)\. Start it, .*\n$/,
    ],
  ])('in a line what is wrong with %j', async (env, line) => {
    const output = await failed(env);
    expect(output).toMatch(line);
    expect(output).not.toContain('secret');
  });

  it.each([
    ['nobody', /^The server at \S+ does not let "nobody" in \(28\w+\)\. .*\n$/],
    [undefined, /^The server at \S+ has no database "nowhere"\. Create it, .*\n$/],
  ])('that the server is there and does not let us in', async (username, line) => {
    const url = new URL(database.url);
    if (username) url.username = username;
    else url.pathname = '/nowhere';
    expect(await failed({ DATABASE_URL: url.href })).toMatch(line);
  });

  it('which ports are free to everybody', () => {
    const error = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
    const at = { host: '127.0.0.1', port: 80 };
    expect(listenTrouble(error, at)?.message).toBe(
      'You may not listen on port 80. Take one from 1024 on: PORT=3000 npm start',
    );
  });
});
