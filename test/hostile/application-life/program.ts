import * as fc from 'fast-check';
import { existsSync } from 'node:fs';

/** A provider of the application's with hooks of its own. */
export interface Neighbour {
  /** Modules between the root and the one in which it stands. */
  depth: number;
  /** How long its `onApplicationBootstrap` takes; null: it has none. */
  bootstrapMs: number | null;
  /** What its `onModuleDestroy` does, after `destroyMs`. */
  destroys: 'nothing' | 'client' | 'DataSource' | 'throws';
  destroyMs: number;
}

/** An application, and how it ends. */
export interface Program {
  as: 'context' | 'http' | 'testing' | 'testing http';
  /** Where the queue is imported, and where its handlers stand. */
  depth: number;
  handlersDepth: number;
  isGlobal: boolean;
  neighbours: Neighbour[];
  failsToBootstrap: boolean;
  drainTimeoutMs: number;
  /** It ends when so many calls have begun. */
  calls: number;
  by: 'close' | 'SIGTERM' | 'SIGUSR2' | 'close twice';
}

/** `npm run test:old-stack` may be without HTTP. */
const stack = process.env['DELAY_QUEUE_STACK'];
const hasHttp = !stack || existsSync(`${stack}/node_modules/@nestjs/platform-express`);
const KINDS: Program['as'][] = ['context', 'testing'];
if (hasHttp) KINDS.push('http', 'testing http');

const depth = fc.integer({ min: 0, max: 3 });
const briefMs = fc.integer({ min: 0, max: 30 });

const neighbour: fc.Arbitrary<Neighbour> = fc.record({
  depth,
  bootstrapMs: fc.option(briefMs),
  destroys: fc.constantFrom<Neighbour['destroys']>(
    'client',
    'client',
    'nothing',
    'DataSource',
    'throws',
  ),
  destroyMs: briefMs,
});

export const programs: fc.Arbitrary<Program> = fc.record({
  as: fc.constantFrom(...KINDS),
  depth,
  handlersDepth: depth,
  isGlobal: fc.boolean(),
  neighbours: fc.array(neighbour, { minLength: 1, maxLength: 5 }),
  failsToBootstrap: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  drainTimeoutMs: fc.constantFrom(0, 20, 5_000),
  calls: fc.integer({ min: 0, max: 40 }),
  by: fc.constantFrom<Program['by']>('close', 'SIGTERM', 'SIGUSR2', 'close twice'),
});
