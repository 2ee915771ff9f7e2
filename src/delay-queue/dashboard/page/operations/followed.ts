import { computed, signal } from '@preact/signals';
import type { OperationLine, OperationView } from '../../contract.js';
import { reload } from '../api/answer.js';
import { operations } from '../api/live.js';
import { get } from '../api/request.js';

/** Fewer would hide one that still runs. */
const FOLLOWED_MAX = 3;

const POLL_MS = 2_000;

/** Operations started on this page, newest first, in the last state that it has seen. */
const started = signal<readonly OperationLine[]>([]);

export const followed = computed(() => started.value.map(latest));

/** Shows it until it is dismissed. */
export function follow(line: OperationLine): void {
  started.value = [line, ...started.value].slice(0, FOLLOWED_MAX);
  if (line.endedAt === null) poll(line.id);
  else reload();
}

export function dismiss(id: string): void {
  started.value = started.value.filter((line) => line.id !== id);
}

/** Whichever is further along: what was read or what the stream sent. */
export function latest(line: OperationLine): OperationLine {
  const live = operations.value.get(line.id);
  if (live === undefined || isOver(line)) return line;
  return isOver(live) || total(live) >= total(line) ? live : line;
}

export const isOver = ({ state }: OperationLine): boolean =>
  state !== 'running' && state !== 'stopping';

export const total = ({ counts }: OperationLine): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Not every proxy lets the stream through, and a killed process sends nothing. */
function poll(id: string): void {
  const line = followed.value.find((each) => each.id === id);
  if (line === undefined || isOver(line)) return;
  setTimeout(() => void read(id), POLL_MS);
}

async function read(id: string): Promise<void> {
  if (!document.hidden) {
    const answered = await get<OperationView>(`operations/${id}`).catch(() => null);
    if (answered !== null) update(answered.operation);
  }
  poll(id);
}

/** Also when it was stopped here. */
export function update(line: OperationLine): void {
  const before = started.value.find(({ id }) => id === line.id);
  started.value = started.value.map((each) => (each.id === line.id ? line : each));
  if (before && !isOver(before) && isOver(line)) reload();
}
