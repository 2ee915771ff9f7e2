/** The functions of a user that the walk goes through. */
export const FUNCTIONS = [
  'codec.encode',
  'codec.decode',
  'schema at schedule',
  'schema before a call',
  'schema result at schedule',
  'schema result before a call',
  'plain handler',
  'transactional handler',
  'batch handler',
  'around',
  'guard',
  'interceptor',
  'pipe',
  'filter',
  'backoff',
  'listener',
  '@OnDelayEvent',
  '@OnDeadDelay',
  'ctx.fail',
  'resolveManager',
  'onProgress',
  'volatile timer',
] as const;

export type WalkedFunction = (typeof FUNCTIONS)[number];

/** To the process. */
export interface WalkOrder {
  walk?: WalkedFunction;
  stop?: true;
}

/** Of the process: what each odd answer came to. */
export interface WalkMessage {
  ready?: true;
  walked?: WalkedFunction;
  /** What came of each, beside what should have: only where they differ. */
  differs?: Record<string, { is: string; shouldBe: string }>;
}
