import type { DelayQueueOptions } from 'nestjs-delay-queue';

/** What the parent tells `fixtures/seized.ts` at its start. */
export interface SeizedSetup {
  url: string;
  options: DelayQueueOptions;
  /** A file; the handlers block the event loop until it exists. */
  until: string;
}

/** What it tells. */
export interface SeizedMessage {
  ready?: true;
  /** The handler of that key blocks the event loop from now on. */
  seized?: string;
  /** A handler that blocks nothing ran for that key. */
  fired?: string;
  latenessMs?: number;
  event?: 'lost' | 'completed';
  key?: string;
}
