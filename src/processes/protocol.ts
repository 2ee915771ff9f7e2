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

/** What the supervisor tells a shop process; the opening comes first and once. */
export type Order =
  | Opening
  | { type: 'processes'; list: readonly ProcessState[]; events: readonly ProcessEvent[] }
  /** Report what happens in the shop, from that instant on. */
  | { type: 'report'; since: string }
  /** Finish what runs, and end. */
  | { type: 'stop' };

/** What a shop process tells the supervisor. */
export type Report =
  /** It has imported the shop, and hears orders from now on. */
  | { type: 'ready' }
  | { type: 'open'; port: number }
  /** It cannot open; the message is for people. */
  | { type: 'failed'; message: string }
  | { type: 'happened'; happenings: Happening[] }
  /** A visitor wants that process killed. */
  | { type: 'kill'; name: string };
