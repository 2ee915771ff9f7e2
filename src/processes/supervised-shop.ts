import { openDatabase, type Database } from '../database.js';
import { readSettings } from '../shop/shop.config.js';
import { greet } from '../terminal/greeting.js';
import { lifeLine } from '../terminal/life-line.js';
import { Terminal } from '../terminal/terminal.js';
import type { Lifetime } from './lifetime.js';
import { freePortOf } from './port.js';
import { reserveNames, type AdmittedCall } from './reservation.js';
import { Supervisor } from './supervisor.js';

const PROCESSES = 2;

/** `npm start`: the shop in two processes, on its embedded Postgres or on `DATABASE_URL`. */
export async function superviseShop(lifetime: Lifetime): Promise<void> {
  const terminal = new Terminal();
  const { logLevels, ...settings } = readSettings(process.env, { prod: false });
  const port = await freePortOf(settings);

  let database: Database | undefined;
  let reservation: AdmittedCall | undefined;
  lifetime.opened(async () => {
    await reservation?.release();
    await database?.stop();
  });
  // First: importing the shop takes longer than starting a Postgres.
  const supervisor = superviseOn(terminal, lifetime);
  database = await openDatabase({ prod: false, log: (line) => terminal.print(line) });
  reservation = await reserveNames(database.url, PROCESSES);
  const config = { ...settings, port, databaseUrl: database.url };
  const { names, at: shopStartedAt } = reservation;
  await supervisor.open({ shopStartedAt, config, logLevels, colors: terminal.colors }, names);
  greet(terminal, config, names);
}

function superviseOn(terminal: Terminal, lifetime: Lifetime): Supervisor {
  const supervisor = new Supervisor(PROCESSES, {
    happened(news) {
      const line = lifeLine(news);
      if (line !== undefined) terminal.print(line);
    },
    printed: (name, line) => terminal.complain(`${terminal.styled('dim', name)} ${line}`),
    died: (name, how) => terminal.print(terminal.styled('red', `${name} died: ${how}`)),
    cameBack: (name, pid) => terminal.print(terminal.styled('green', `${name} is back, as ${pid}`)),
    failed: (error) => void lifetime.fail(error),
  });
  lifetime.opened(() => supervisor.stop());
  supervisor.start();
  return supervisor;
}
