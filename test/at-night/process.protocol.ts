import type { HealthOptions } from 'nestjs-delay-queue';

/** What a process of the shop is told at its start, as JSON in `AT_NIGHT`. */
export interface ProcessSetup {
  nodeName: string;
  databaseUrl: string;
  port: number;
  /** A partner's address: messages are posted there, and parcels are asked for. */
  partnerUrl: string;
  /** What `DelayHealth.check` is given. */
  limits: HealthOptions;
}

export type ProcessMessage = { ready: true } | { done: ProcessOrder['does'] };

export interface ProcessOrder {
  does: 'deafen' | 'hear' | 'fill' | 'free';
}

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'ledger.export': null;
    'parcel.track': null;
    'parcel.scan': null;
  }
}
