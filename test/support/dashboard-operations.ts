import { Client } from 'pg';
import type { OperationLine, OperationView } from '../../src/delay-queue/dashboard/contract.js';
import type { Answer, DashboardApp } from './dashboard-app.js';
import { until } from './until.js';

/** Delays of a name, with the keys `a 1`, `a 2` and so on, in groups by turns. @returns their ids */
export async function insertDelays(
  client: Client,
  { name, many, dead = false }: { name: string; many: number; dead?: boolean },
): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO delay_queue.delay (name, key, group_id, payload, due_at, wake_at, created_at, attempts, last_error)
     SELECT $1, $1 || ' ' || n, 'group ' || n % 3, '{"secret": 1}', now() + interval '1 day',
            CASE WHEN $2 THEN 'infinity' ELSE now() + interval '1 day' END, now(),
            CASE WHEN $2 THEN 3 ELSE 0 END, CASE WHEN $2 THEN 'Error: no' END
     FROM generate_series(1, $3::int) n
     RETURNING id::text`,
    [name, dead, many],
  );
  return rows.map(({ id }) => id);
}

/** Locks a delay, so that an operation waits in its page. */
export class HeldDelay {
  private constructor(private readonly client: Client) {}

  static async of(url: string, id: string): Promise<HeldDelay> {
    const client = new Client({ connectionString: url });
    // Its server may go away.
    client.on('error', () => {});
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM delay_queue.delay WHERE id = $1 FOR UPDATE', [id]);
    return new HeldDelay(client);
  }

  /** Again: changes nothing. */
  async release(): Promise<void> {
    await this.client.end();
  }
}

/** Thousands of rows take their time, and no fallback would make good what is waited for. */
const OPERATION_WITHIN_MS = 90_000;

/** The operation, once it is as wanted. */
export async function operationWhen(
  app: DashboardApp,
  id: string,
  accept: (line: OperationLine) => boolean,
  headers: Record<string, string> = {},
): Promise<OperationLine> {
  const { operation } = await until(
    async () => (await app.get<OperationView>(`api/operations/${id}`, headers)).body,
    (view) => view.operation !== undefined && accept(view.operation),
    { withinMs: OPERATION_WITHIN_MS, tell: (view) => JSON.stringify(view.operation) },
  );
  return operation;
}

const hasEnded = ({ endedAt }: OperationLine): boolean => endedAt !== null;

/** An answer to an order, as it is when its operation has ended: on a busy machine, a later one. */
export async function ordered(
  app: DashboardApp,
  order: object,
  headers: Record<string, string> = {},
): Promise<Answer<OperationLine>> {
  const answer = await app.post<OperationLine>('api/operations', order, headers);
  if (answer.status !== 200) return answer;
  return { ...answer, body: await operationWhen(app, answer.body.id, hasEnded, headers) };
}

/** All pages of what it changed. */
export async function changesOf(app: DashboardApp, id: string): Promise<OperationView['changes']> {
  const all: OperationView['changes'] = [];
  for (let next: string | null = '0'; next !== null;) {
    const page: Answer<OperationView> = await app.get(`api/operations/${id}?after=${next}`);
    all.push(...page.body.changes);
    ({ next } = page.body);
  }
  return all;
}
