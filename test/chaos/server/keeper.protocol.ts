/** What the keeper of a chaos server is started with (its only argument, as JSON). */
export interface ChaosKeeperOptions {
  /** Absolute; made by the keeper, and removed by it at the end. */
  folder: string;
  settings: Record<string, string | number>;
}

export type ChaosKeeperOrder = {
  /** Crash, stay down for so long, start again on the same port. */
  crashMs: number;
};

/** The first is `ready` or `failed`; then one `ready` or `failed` for each order. */
export type ChaosKeeperMessage = { ready: string } | { failed: string } | { log: string };
