import type { OpenDesign } from './design.js';
import { openHeap } from './heap.js';
import { openRing } from './ring.js';
import { openScan } from './scan.js';
import { openTtlQueue } from './ttl-queue.js';
import { openTwoWheels } from './two-wheels.js';
import { openZset } from './zset.js';

export const FAULTS = ['last moment', 'rollback', 'restart', 'two processes', 'pause'] as const;
export type Fault = (typeof FAULTS)[number];

/** What became of the orders of one fault. */
export interface Outcome {
  closedThoughPaid: number;
  /** Unpaid and past their time, and never to be closed. */
  lost: number;
  /** Orders whose stock went back twice. */
  double: number;
  /** The latest close behind its due time, or behind the start of a process that was killed before. */
  lateMs: number;
}

/** What is certain by construction: counts are exact, `lateMs` is at least that. */
export type Shows = Partial<Record<Fault, Partial<Outcome>>>;

export interface Classic {
  title: string;
  open: OpenDesign;
  shows: Shows;
}

/** In the order of the table. */
export const DESIGNS = {
  ring: {
    title: 'ring with cycle counts',
    open: openRing,
    shows: {
      rollback: { lost: 1 },
      restart: { lost: 3 },
      'two processes': { closedThoughPaid: 1 },
      pause: { lateMs: 5_000 },
    },
  },
  'two-wheels': {
    title: 'minute and second wheel',
    open: openTwoWheels,
    shows: {
      'last moment': { lateMs: 500 },
      rollback: { lost: 1 },
      restart: { lost: 3 },
      'two processes': { closedThoughPaid: 1 },
      pause: { lateMs: 1_000 },
    },
  },
  heap: {
    title: 'heap, read again at a start',
    open: openHeap,
    shows: {
      rollback: { lost: 1 },
      'two processes': { closedThoughPaid: 1, double: 3 },
      pause: { lateMs: 1_000 },
    },
  },
  scan: {
    title: 'table scan',
    open: openScan,
    shows: {
      'last moment': { closedThoughPaid: 1, lateMs: 100 },
      'two processes': { closedThoughPaid: 1, double: 3 },
      pause: { double: 1 },
    },
  },
  zset: {
    title: 'sorted set (Redis)',
    open: openZset,
    shows: { rollback: { lost: 1 }, restart: { lost: 1 }, pause: { lateMs: 1_000 } },
  },
  'ttl-queue': {
    title: 'TTL queue (RabbitMQ)',
    open: openTtlQueue,
    shows: {
      'last moment': { closedThoughPaid: 1, lateMs: 1_000 },
      'two processes': { closedThoughPaid: 1 },
      pause: { double: 1 },
    },
  },
  ours: {
    title: 'nestjs-delay-queue',
    // For its processes alone: Nest takes most of a second to load.
    open: async (shop) => (await import('./ours.js')).openOurs(shop),
    shows: {},
  },
} satisfies Record<string, Classic>;

export type DesignName = keyof typeof DESIGNS;
export const designNames = Object.keys(DESIGNS) as DesignName[];
