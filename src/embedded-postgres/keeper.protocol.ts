/** What a keeper is started with (its only argument, as JSON). */
export interface KeeperOptions {
  /** Absolute folder of the server: its data, its password, its port. Made when missing. */
  dataDir: string;
  /** Settings for `postgresql.conf`, applied when the server is started (not when it is joined). */
  settings?: Record<string, string | number>;
  /** Remove `dataDir` once the last user has left. Default false. */
  temporary?: boolean;
  /** How long Postgres may take to stop, in milliseconds, before the keeper gives up. Default 60,000. */
  stopTimeoutMs?: number;
  /** How long to try to reach a server that runs, in milliseconds. Default 60,000. */
  joinTimeoutMs?: number;
}

/** What a keeper tells its parent: first either `ready` or `failed`, lines to log at any time. */
export type KeeperMessage =
  | { type: 'ready'; url: string }
  | { type: 'failed'; message: string }
  | { type: 'log'; line: string };
