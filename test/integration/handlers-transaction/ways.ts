import { EventEmitter } from 'node:events';
import { Query, type PoolClient } from 'pg';
import { type EntityManager, EntitySchema } from 'typeorm';

/** A line of it is an effect of a handler; no key hides what happened twice. */
export const Effect = new EntitySchema<{ id?: number; n: number }>({
  name: 'Effect',
  tableName: 'effect',
  columns: { id: { type: Number, primary: true, generated: true }, n: { type: Number } },
});

export const EFFECT_TABLE = 'CREATE TABLE effect (id serial PRIMARY KEY, n int NOT NULL)';

export const INSERT = 'INSERT INTO effect (n) VALUES ($1)';

const clientOf = (manager: EntityManager): Promise<PoolClient> =>
  manager.queryRunner!.connect() as Promise<PoolClient>;

/** What a Submittable is told by the connection, and what it tells it. */
interface Protocol {
  parse(what: { text: string; name: string }): void;
  bind(what: { portal: string; statement: string; values: unknown[] }): void;
  describe(what: { type: 'P'; name: string }): void;
  execute(what: { portal: string; rows: number }): void;
  flush(): void;
  sync(): void;
}

/** A cursor, or a stream, of which one row is read, and the others when somebody asks for them. */
export class OpenCursor extends EventEmitter {
  constructor(
    private readonly text: string,
    private readonly values: unknown[] = [],
  ) {
    super();
  }

  submit(connection: Protocol): void {
    connection.parse({ text: this.text, name: '' });
    connection.bind({ portal: '', statement: '', values: this.values.map(String) });
    connection.describe({ type: 'P', name: '' });
    connection.execute({ portal: '', rows: 1 });
    connection.flush();
  }

  handleRowDescription(): void {}

  handleDataRow(): void {
    this.emit('data');
  }

  handlePortalSuspended(): void {}

  handleEmptyQuery(): void {}

  handleCommandComplete(_: unknown, connection: Protocol): void {
    connection.sync();
  }

  handleReadyForQuery(): void {
    this.emit('end');
  }

  handleError(error: unknown, connection: Protocol | undefined): void {
    this.emit('error', error);
    connection?.sync();
  }
}

const ended = (cursor: EventEmitter): Promise<void> =>
  new Promise((resolve, reject) => {
    cursor.once('end', resolve);
    cursor.once('error', reject);
  });

/** Every way in which a handler can come to write. */
export const WAYS: Record<string, (manager: EntityManager, n: number) => Promise<unknown>> = {
  'its manager': (manager, n) => manager.query(INSERT, [n]),
  'a repository': (manager, n) => manager.getRepository(Effect).save({ n }),
  'a nested transaction': (manager, n) => manager.transaction((inner) => inner.query(INSERT, [n])),
  'its query runner': (manager, n) => manager.queryRunner!.query(INSERT, [n]),
  'a stream of its query runner': async ({ queryRunner }, n) => {
    const stream = await queryRunner!.stream(INSERT, [n]);
    await ended(stream);
  },
  'the client': async (manager, n) => (await clientOf(manager)).query(INSERT, [n]),
  'the client, with a callback': async (manager, n) => {
    const client = await clientOf(manager);
    await new Promise<void>((resolve, reject) => {
      client.query(INSERT, [n], (error) => (error ? reject(error) : resolve()));
    });
  },
  'the client, with a query of its own': async (manager, n) => {
    const client = await clientOf(manager);
    await ended(client.query(new Query(INSERT, [n])));
  },
};
