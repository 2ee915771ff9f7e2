import type { INestApplicationContext } from '@nestjs/common';
import { userInfo } from 'node:os';
import type { DataSource } from 'typeorm';
import {
  checkSchema,
  DelayAdmin,
  durationIn,
  type DelayClient,
  PgDataSource,
  readingClient,
  type ResolvedOptions,
  resolveOptions,
} from '../core/ops.js';
import { type Arguments, WrongUsage } from './parse.js';
import { PROGRAM } from '../ops/checks/words.js';
import type { CommandContext } from './terminal.js';

/** A person waits: the server answers soon, or there is an error. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Of the pool: a migration and its lock, or a read and LISTEN. */
const CONNECTIONS = 3;

/** The database that a command works on. */
export class Session {
  /** Reads. It starts nothing, and needs neither a primary nor the right to write. */
  readonly reading: DelayAdmin;
  /** Reads that `DelayAdmin` does not offer. */
  readonly reads: DelayClient['reads'];
  readonly client: DelayClient;
  #application: INestApplicationContext | undefined;

  /** @throws whatever `pg` says when it gets no connection */
  static async open(context: Pick<CommandContext, 'given' | 'environment'>): Promise<Session> {
    const schema = schemaFrom(context.given);
    const loadEvery = loadEveryFrom(context.given);
    const options = resolveOptions({
      schema,
      worker: false,
      ...(loadEvery !== undefined && { loadEvery, horizon: '1h' }),
    });
    const dataSource = await PgDataSource.from({
      ...connectionFrom(context),
      application_name: `${PROGRAM} ${context.given.command}`,
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    }).initialize();
    return new Session(dataSource, schema, options, !context.given.has('no-history'));
  }

  private constructor(
    readonly dataSource: DataSource,
    readonly schema: string,
    readonly options: ResolvedOptions,
    private readonly writesHistory: boolean,
  ) {
    this.client = readingClient(dataSource, options);
    this.reading = new DelayAdmin(options, this.client);
    this.reads = this.client.reads;
  }

  /** Changes, as a node that runs nothing: it checks the database, and hints the others. */
  async changing(): Promise<DelayAdmin> {
    return (await this.node()).get(DelayAdmin);
  }

  /** That node. */
  async node(): Promise<INestApplicationContext> {
    const { startNode } = await import('./node.js');
    this.#application ??= await startNode(this.dataSource, this.schema, {
      writesHistory: this.writesHistory,
    });
    return this.#application;
  }

  async close(): Promise<void> {
    await this.#application?.close();
    await this.dataSource.destroy();
  }
}

/** Runs `work` on a session, which it closes. */
export async function withSession<Result>(
  context: Pick<CommandContext, 'given' | 'environment'>,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const session = await Session.open(context);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

/** @throws DelayInvalidError */
export function loadEveryFrom(given: Arguments): number | undefined {
  const text = given.text('load-every');
  // Below the longest horizon.
  return text === undefined ? undefined : durationIn('100ms', '59m')(text, 'load-every');
}

/** @throws WrongUsage */
export function schemaFrom(given: Arguments): string {
  try {
    return checkSchema(given.text('schema') ?? 'delay_queue');
  } catch (error) {
    throw new WrongUsage(`--${(error as Error).message}`);
  }
}

/** What `pg` is to connect with, beside its own PG* variables. */
export function connectionFrom({
  given,
  environment,
}: Pick<CommandContext, 'given' | 'environment'>): Record<string, unknown> {
  // An empty variable counts as none.
  const url = given.text('url') ?? (environment['DATABASE_URL'] || undefined);
  if (url !== undefined) {
    if (/^postgres(?:ql)?:\/\//.test(url)) return { connectionString: url };
    throw new WrongUsage(
      `${given.has('url') ? '--url' : 'DATABASE_URL'} must begin with postgres:// or postgresql://`,
    );
  }
  // `pg` asks USER only, which Windows and some containers do not set.
  return environment['PGUSER'] || environment['USER'] ? {} : { user: userInfo().username };
}
