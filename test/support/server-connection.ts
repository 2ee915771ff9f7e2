import { Client } from 'pg';

const KEY = Symbol.for('nestjs-delay-queue.test.server-connection');
type Holder = { [KEY]?: (url: string) => Promise<Client> };

let shared: Promise<Client> | undefined;

/** One of a Jest worker, for all its files: a connection of its own for each database cost as much as the database. */
function connection(url: string): Promise<Client> {
  return (shared ??= open(url));
}

function forget(): void {
  shared = undefined;
}

async function open(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', forget);
  client.once('end', forget);
  await client.connect().catch((error: unknown) => {
    forget();
    throw error;
  });
  // It ends with the worker.
  (client as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();
  return client;
}

/** Gives it to the files of a worker, whose modules are loaded anew for each. */
export function lendConnection(holder: object): void {
  (holder as Holder)[KEY] = connection;
}

/** The worker's, or undefined outside of Jest. */
export const lentConnection = (url: string): Promise<Client> | undefined =>
  (globalThis as Holder)[KEY]?.(url);
