import type { ListenConfig, LogConfig, ShopConfig } from '../shop/shop.config.js';
import type { Happening } from '../shop/feed/feed.js';
import type { ProcessEvent, ProcessState } from '../shop/processes/processes.js';

/** What a shop process has to know before it opens. */
export interface Opening extends LogConfig {
  type: 'open';
  name: string;
  /** ISO 8601, on the database's clock. */
  shopStartedAt: string;
  config: ShopConfig & ListenConfig;
  colors: boolean;
}

/** Orders of the supervisor to a shop process; `open` comes first, and once. */
export type Order =
  | Opening
  | { type: 'processes'; list: readonly ProcessState[]; events: readonly ProcessEvent[] }
  /** Report what happens in the shop, from that instant on. */
  | { type: 'report'; since: string }
  /** Finish running work, then exit. */
  | { type: 'stop' };

/** Reports of a shop process to the supervisor. */
export type Report =
  /** It has imported the shop, and accepts orders from now on. */
  | { type: 'ready' }
  | { type: 'open'; port: number }
  /** It cannot open; the message is for people. */
  | { type: 'failed'; message: string }
  | { type: 'happened'; happenings: Happening[] }
  /** A visitor wants that process killed. */
  | { type: 'kill'; name: string };
