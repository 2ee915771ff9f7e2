/** What a process of the application is told at its start, as JSON in `PATRONI_PROCESS`. */
export interface ProcessSetup {
  nodeName: string;
  url: string;
  /** Whether it runs handlers, or only places orders. */
  isWorker: boolean;
  ordersPerSecond: number;
}

/** Orders of which the one half is closed by a plain handler, and the other by a transactional one. */
export const CLOSES = ['patroni.close', 'patroni.closePlainly'] as const;

/** Far away, and cancelled at once: by calls without a manager. */
export const REMINDER = 'patroni.remind';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'patroni.close': null;
    'patroni.closePlainly': null;
    'patroni.remind': null;
  }
}

/** From placed to closed. */
export const UNPAID_MS = 3_000;

export type ProcessMessage =
  | { ready: true }
  /** Its COMMIT was answered; at which `Date.now()`. */
  | { placed: string; atMs: number }
  /** The same, of what it paid. */
  | { paid: string }
  | { failed: string }
  /** It places no more orders, and what it had begun is over. */
  | { placesNoMore: true };

export type ProcessOrder = { stopPlacing: true };
