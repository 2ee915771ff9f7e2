import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { freePortOf, listenTrouble } from '../../src/processes/port.js';
import { databaseNow } from '../../src/processes/reservation.js';
import { NodeProcess } from '../support/node-process.js';
import { currentRun } from '../support/test-run.js';

it('what is wrong with the settings is printed, a line for each, and nothing else', async () => {
  const shop = NodeProcess.start('src/main.ts', {
    args: ['--prod'],
    env: { DATABASE_URL: '', ORDER_RATE_AFTER: '2 days' },
  });
  expect(await shop.exited).toEqual({ code: 1, signal: null });
  expect(shop.output).toMatch(/^ORDER_RATE_AFTER: .*\nDATABASE_URL: .*\n$/);
});

const serverWith = (change: Partial<URL>): string =>
  Object.assign(new URL(currentRun().serverUrl), change).href;

it.each<[string, () => string, RegExp]>([
  ['of no Postgres', () => 'postgres', /^DATABASE_URL is not a Postgres URL; /],
  [
    'where nobody answers',
    () => 'postgresql://me:secret@127.0.0.1:1/shop',
    /^No database answers at 127\.0\.0\.1:1 \(ECONNREFUSED\)\. Start it, /,
  ],
  [
    'of no database',
    () => serverWith({ pathname: '/nowhere' }),
    /^The server at \S+ has no database "nowhere"\. Create it, /,
  ],
  [
    'that does not let us in',
    () => serverWith({ username: 'nobody' }),
    /^The server at \S+ does not let "nobody" in \(28\w+\)\. /,
  ],
])('a URL %s is told in a line without its password', async (_, urlOf, line) => {
  const message = await databaseNow(urlOf()).then(String, (error: Error) => error.message);
  expect(message).toMatch(line);
  expect(message).not.toMatch(/secret|\n/);
});

it('a port that cannot be had is told, and which one can', async () => {
  const other = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(freePortOf({ host: '127.0.0.1', port })).rejects.toThrow(
    `Port ${port} is in use by another program. Use another one: PORT=${port + 1} npm start`,
  );
  await new Promise((done) => other.close(done));

  // Any: one that no connection going out is given before the shop listens.
  expect(await freePortOf({ host: '127.0.0.1', port: 0 })).toBeLessThan(32_768);
  await expect(freePortOf({ host: 'nowhere.invalid', port: 0 })).rejects.toThrow(
    /^HOST=nowhere\.invalid is not an address of this machine /,
  );
  const error = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
  expect(listenTrouble(error, { host: '127.0.0.1', port: 80 })?.message).toBe(
    'You may not listen on port 80. Use one from 1024 up: PORT=3000 npm start',
  );
});
