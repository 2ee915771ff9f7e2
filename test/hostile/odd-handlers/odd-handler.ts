import type { Delay, DelayContext, DelayService } from 'nestjs-delay-queue';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

export type Kind = 'plain' | 'transactional';

/** How the odd attempts of a delay end, as the node's events call it. */
export type End = 'completed' | 'dead' | 'lost' | 'postponed';

/** What an odd handler may lay its hands on. */
export interface Reach {
  delay: Delay;
  ctx: DelayContext;
  /** Of a transactional handler. */
  manager: EntityManager;
  runner: QueryRunner;
  dataSource: DataSource;
  delays: DelayService;
  /** Writes down that the handler was here, through its own transaction if it has one. */
  effect: () => Promise<void>;
}

/** A handler that does something nobody should do, and what must come of it. */
export interface OddHandler {
  what: string;
  /** Both, when left out. */
  kinds?: readonly Kind[];
  act: (reach: Reach) => unknown;
  /** One of these. */
  ends: readonly End[];
  /** What the dead letter says. */
  error?: RegExp;
  /** A minute when left out: nothing is ended by its timeout that should end otherwise. */
  timeoutMs?: number;
  /** 2 when left out: it fails, is tried again, and is a dead letter. */
  maxAttempts?: number;
  /**
   * Lines of `effect` that must be there afterwards; `as it ended`: one if it completed, else none.
   * When left out nobody looks.
   */
  effects?: number | 'as it ended';
}

export const TRANSACTIONAL: readonly Kind[] = ['transactional'];
export const PLAIN: readonly Kind[] = ['plain'];

/** Ends by its timeout, at the first attempt. */
export const TIMES_OUT = {
  ends: ['dead'],
  timeoutMs: 250,
  maxAttempts: 1,
  error: /DelayTimeoutError/,
} as const satisfies Partial<OddHandler>;
