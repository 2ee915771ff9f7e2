/** Options of a keeper: its only argument, as JSON. */
export interface KeeperOptions {
  /** Absolute folder of the server: data, password, port. Created if missing. */
  dataDir: string;
  /** Settings for `postgresql.conf`, applied when the server is started, not when it is joined. */
  settings?: Record<string, string | number>;
  /** Folder of another Postgres' programs, such as `/usr/lib/postgresql/15/bin`. Default: the embedded one's. */
  programs?: string;
  /** Whether to remove `dataDir` once the last user has left. Default false. */
  temporary?: boolean;
  /**
   * How long Postgres may take to stop before the keeper gives up, in milliseconds. Default 60,000.
   */
  stopTimeoutMs?: number;
  /** How long to try to reach a running server, in milliseconds. Default 60,000. */
  joinTimeoutMs?: number;
}

/** Messages to the parent: first `ready` or `failed`; `log` at any time. */
export type KeeperMessage =
  | { type: 'ready'; url: string }
  | { type: 'failed'; message: string }
  | { type: 'log'; line: string };
