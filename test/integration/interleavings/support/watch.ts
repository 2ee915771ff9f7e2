import { Client } from 'pg';

/** A delay as everybody else sees it: its committed version. */
export interface SeenRow {
  id: number;
  key: string;
  epoch: number;
  leasedBy: string | null;
  /** What its lease is at that moment; `none` also for a dead letter. */
  lease: 'none' | 'live' | 'over';
  dead: boolean;
  due: boolean;
}

export interface Seen {
  rows: Map<string, SeenRow>;
  /** For each backend asked about: the backends it waits for. */
  blockers: Map<number, number[]>;
}

/** Looks from outside at the rows of some keys and at who waits for whom. */
export class Watch {
  static async open(url: string): Promise<Watch> {
    const client = new Client({ connectionString: url, application_name: 'watch' });
    await client.connect();
    return new Watch(client);
  }

  private constructor(private readonly client: Client) {}

  async look(keys: readonly string[], pids: readonly number[]): Promise<Seen> {
    const { rows } = await this.client.query<{
      waits: [number, number[]][] | null;
      delays: SeenRow[] | null;
    }>({ name: 'look', text: LOOK, values: [keys, pids] });
    const { waits, delays } = rows[0] ?? { waits: null, delays: null };
    return {
      rows: new Map((delays ?? []).map((row) => [row.key, row])),
      blockers: new Map(waits),
    };
  }

  close(): Promise<void> {
    return this.client.end();
  }
}

const LOOK = `
SELECT (SELECT json_agg(json_build_array(pid, pg_blocking_pids(pid)))
        FROM unnest($2::int[]) AS pid) AS waits,
       (SELECT json_agg(json_build_object(
                 'id', d.id, 'key', d.key, 'epoch', d.epoch, 'leasedBy', d.leased_by,
                 'lease', CASE WHEN d.leased_by IS NULL THEN 'none'
                               WHEN d.leased_until > clock_timestamp() THEN 'live'
                               ELSE 'over' END,
                 'dead', d.wake_at = 'infinity', 'due', d.wake_at <= clock_timestamp()))
        FROM delay_queue.delay d WHERE d.name = 'test.a' AND d.key = ANY ($1::text[])) AS delays`;
