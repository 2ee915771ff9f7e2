import { DatabaseDoor } from '../../e2e/support/database-door.js';
import { OwnServer, type Settings } from './own-server.js';
import { until } from '../../support/until.js';

const REPLICA = 'replica';

/** The servers crash and the machine does not, so nothing has to reach a disk. */
const SETTINGS: Settings = { fsync: 'off', max_connections: 100 };

/** A primary, a streaming replica of it, and one address that leads to either. */
export class ReplicatedPair {
  static async open(
    replication: 'synchronous' | 'asynchronous',
    more: Settings = {},
  ): Promise<ReplicatedPair> {
    const settings = { ...SETTINGS, ...more };
    const primary = await OwnServer.create(settings);
    const replica = await primary.replica(REPLICA, settings);
    await Promise.all([primary.start(), replica.start()]);
    const to = { url: primary.url, drop: async () => {} };
    const pair = new ReplicatedPair(primary, replica, to, await DatabaseDoor.before(to));
    await pair.#streaming('async');
    if (replication === 'synchronous') {
      // Not before: with nobody to confirm it, no commit would end.
      await primary.configure({ synchronous_standby_names: REPLICA });
      await primary.sql('SELECT pg_reload_conf()');
      await pair.#streaming('sync');
    }
    await primary.migrate();
    return pair;
  }

  private constructor(
    readonly primary: OwnServer,
    readonly replica: OwnServer,
    private readonly to: { url: string },
    private readonly door: DatabaseDoor,
  ) {}

  /** Leads to the primary, and after `pointToReplica` to the replica. */
  get url(): string {
    return this.door.url;
  }

  /** New connections lead there; those that are open stay where they are. */
  pointToReplica(): void {
    this.to.url = this.replica.url;
  }

  /** What the primary commits from now on never gets to the replica. */
  async stopReplication(): Promise<void> {
    await this.caughtUp();
    await this.replica.configure({ primary_conninfo: '' });
    await this.replica.sql('SELECT pg_reload_conf()');
    await until(
      () => this.primary.sql('SELECT FROM pg_stat_replication'),
      (rows) => rows.length === 0,
    );
  }

  /** Until the replica has all that the primary has committed. */
  async caughtUp(): Promise<void> {
    const [row] = await this.primary.sql<{ lsn: string }>('SELECT pg_current_wal_lsn() AS lsn');
    await until(
      () =>
        this.replica.sql<{ has: boolean }>(
          `SELECT pg_last_wal_replay_lsn() >= '${row!.lsn}' AS has`,
        ),
      ([seen]) => seen?.has === true,
    );
  }

  /** Resolves when the replica takes writes. */
  async promote(): Promise<void> {
    const [row] = await this.replica.sql<{ done: boolean }>('SELECT pg_promote(true, 60) AS done');
    if (row?.done !== true) throw new Error('the replica was not promoted');
  }

  async close(): Promise<void> {
    await this.door.shut();
    await Promise.all([this.primary.remove(), this.replica.remove()]);
  }

  async #streaming(state: 'async' | 'sync'): Promise<void> {
    await until(
      () =>
        this.primary.sql<{ state: string; sync_state: string }>(
          'SELECT state, sync_state FROM pg_stat_replication',
        ),
      ([seen]) => seen?.state === 'streaming' && seen.sync_state === state,
    );
  }
}
