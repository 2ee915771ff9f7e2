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

/** One write to one delay, in the order in which its versions followed each other. */
export interface Write {
  /** The backend that made it. */
  pid: number;
  key: string;
  kind: 'insert' | 'claim' | 'lease' | 'move' | 'delete';
  was: Version | null;
  now: Version | null;
}

/** A line of history. */
export interface Ended {
  key: string;
  state: string;
}

/** An order that is no longer open. */
export interface Order {
  key: string;
  status: string;
}

interface Version {
  id: number;
  epoch: number;
  attempts: number;
  leased_by: string | null;
  /** Whether its lease ran at the moment of the write. */
  live: boolean;
  due: boolean;
  dead: boolean;
}

interface Written {
  writes: Write[];
  ended: Ended[];
  orders: Order[];
}

/** Looks from outside at the rows of some keys, at who waits for whom, and at what was written. */
export class Watch {
  static async open(url: string): Promise<Watch> {
    const client = new Client({ connectionString: url, application_name: 'watch' });
    await client.connect();
    await client.query(WRITE_LOG);
    return new Watch(client);
  }

  private constructor(private readonly client: Client) {}

  /** An open order of each key. */
  async order(keys: readonly string[]): Promise<void> {
    const values = [keys];
    await this.client.query({
      name: 'order',
      text: 'INSERT INTO purchase SELECT unnest($1::text[])',
      values,
    });
  }

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

  /** All writes to the delays of these keys, all lines of history about them, and their orders. */
  async written(keys: readonly string[]): Promise<Written> {
    const { rows } = await this.client.query<{ [Each in keyof Written]: Written[Each] | null }>({
      name: 'written',
      text: WRITTEN,
      values: [keys],
    });
    const { writes, ended, orders } = rows[0] ?? {};
    return { writes: writes ?? [], ended: ended ?? [], orders: orders ?? [] };
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

/** Notes every write to a delay; what is rolled back was never written. Orders lie beside them. */
const WRITE_LOG = `
CREATE TABLE purchase (key text PRIMARY KEY, status text NOT NULL DEFAULT 'open');
CREATE TABLE write_log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                        pid int, key text, kind text, was jsonb, now jsonb);
CREATE INDEX write_log_key ON write_log (key);
CREATE FUNCTION version_of(d delay_queue.delay) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object(
    'id', d.id, 'epoch', d.epoch, 'attempts', d.attempts, 'leased_by', d.leased_by,
    'live', COALESCE(d.leased_until > clock_timestamp(), false),
    'due', d.wake_at <= clock_timestamp(), 'dead', d.wake_at = 'infinity')
$$;
CREATE FUNCTION log_write() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
BEGIN
  INSERT INTO write_log (pid, key, kind, was, now)
  VALUES (pg_backend_pid(), COALESCE(NEW.key, OLD.key),
          CASE WHEN TG_OP <> 'UPDATE' THEN lower(TG_OP)
               WHEN NEW.epoch = OLD.epoch THEN 'lease'
               WHEN NEW.attempts > OLD.attempts THEN 'claim'
               ELSE 'move' END,
          CASE WHEN TG_OP <> 'INSERT' THEN version_of(OLD) END,
          CASE WHEN TG_OP <> 'DELETE' THEN version_of(NEW) END);
  RETURN NULL;
END $$;
CREATE TRIGGER log_write AFTER INSERT OR UPDATE OR DELETE ON delay_queue.delay
  FOR EACH ROW EXECUTE FUNCTION log_write()`;

const WRITTEN = `
SELECT (SELECT json_agg(w ORDER BY w.id) FROM write_log w WHERE w.key = ANY ($1::text[])) AS writes,
       (SELECT json_agg(json_build_object('key', h.key, 'state', h.state))
        FROM delay_queue.history h
        WHERE h.name = 'test.a' AND h.key = ANY ($1::text[])) AS ended,
       (SELECT json_agg(p) FROM purchase p
        WHERE p.key = ANY ($1::text[]) AND p.status <> 'open') AS orders`;
