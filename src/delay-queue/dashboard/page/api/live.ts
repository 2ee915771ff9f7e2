import { signal } from '@preact/signals';
import { serverClock, tick } from '../../../../ui/server-clock.js';
import type { LiveEvents, OperationLine, Overview } from '../../contract.js';
import { reload } from './answer.js';
import { problemIn, type RequestProblem } from './request.js';
import { openSession } from './session.js';

const AGAIN_AFTER_MS = [500, 1_000, 2_000, 5_000];

/** Bounds the memory of a page that stays open for weeks. */
const OPERATIONS_MAX = 200;

/** `trouble`: the server answers, but cannot read the overview. */
export type Connection = 'connecting' | 'live' | 'lost' | 'trouble';

export const connection = signal<Connection>('connecting');

export const trouble = signal<RequestProblem | null>(null);

/** As of the last event; kept while the connection is lost. */
export const overview = signal<Overview | null>(null);

export const operations = signal<ReadonlyMap<string, OperationLine>>(new Map());

let source: EventSource | undefined;
let again: ReturnType<typeof setTimeout> | undefined;
let failures = 0;

/** A hidden page keeps no stream open. */
export function watchLive(): void {
  document.addEventListener('visibilitychange', openOrClose);
  openOrClose();
}

function openOrClose(): void {
  if (document.hidden) return close();
  if (source !== undefined || again !== undefined) return;
  if (connection.value !== 'connecting') reload();
  open();
}

function close(): void {
  source?.close();
  clearTimeout(again);
  source = undefined;
  again = undefined;
}

function open(): void {
  again = undefined;
  source = new EventSource('api/live');
  on('overview', (news) => {
    overview.value = news;
    hears(news.now);
  });
  on('operation', (line) => {
    const before = operations.value.get(line.id);
    const newest = [...operations.value, [line.id, line] as const].slice(-OPERATIONS_MAX);
    operations.value = new Map(newest);
    if (line.endedAt !== null && before?.endedAt !== line.endedAt) reload();
  });
  on('problem', (problem) => {
    trouble.value = problem;
    connection.value = 'trouble';
  });
  // A browser reconnects by itself, but not after an error status.
  source.addEventListener('error', ({ target }) => {
    // The server ends each stream after some minutes, so only the second failure counts as lost.
    if (failures > 0) connection.value = 'lost';
    if ((target as EventSource).readyState === EventSource.CLOSED) void askWhy();
    close();
    const afterMs = AGAIN_AFTER_MS[Math.min(failures, AGAIN_AFTER_MS.length - 1)];
    failures += 1;
    if (!document.hidden) again = setTimeout(open, afterMs);
  });
}

/** A stream cannot say why it was refused. */
async function askWhy(): Promise<void> {
  try {
    await openSession();
  } catch (error) {
    const problem = problemIn(error);
    if (connection.value !== 'lost' || problem.problem === 'unreachable') return;
    trouble.value = problem;
    connection.value = 'trouble';
  }
}

function on<Name extends keyof LiveEvents>(name: Name, hear: (news: LiveEvents[Name]) => void) {
  source?.addEventListener(name, ({ data }: MessageEvent<string>) => {
    hear(JSON.parse(data) as LiveEvents[Name]);
  });
}

function hears(now: string): void {
  serverClock.read(now);
  tick();
  const was = connection.value;
  connection.value = 'live';
  failures = 0;
  if (was === 'lost' || was === 'trouble') reload();
}
