import type { DelayName, DelayRecord, ListedDelay } from '../core/index.js';
import type { DelayLine, StoryDelay, StoryView } from './contract.js';
import type { Look } from './dashboard-database.js';
import { attemptLines, endedLine, liveLine, moveLines } from './lines.js';
import type { Rights } from './rights.js';

/** One business key across names and runs. @throws DelayInvalidError */
export async function storyView(
  look: Look,
  { names, groups }: Rights,
  { key, after, limit }: { key: string; after: string | null; limit: number },
): Promise<Omit<StoryView, 'operations'>> {
  const nowMs = await look.nowMs();
  const about = {
    key,
    ...(names && { name: names as readonly DelayName[] }),
    ...(groups && { group: groups }),
  };
  const page = { limit, payload: false, ...(after !== null && { after }) };
  const isBlind = names?.length === 0 || groups?.length === 0;
  const { delays, history, next } = isBlind
    ? { delays: [], history: [], next: null }
    : await look.admin.story(about, { ...page, manager: look.manager });
  return {
    now: new Date(nowMs).toISOString(),
    key,
    delays: [
      ...delays.map((delay) => storyDelay(liveLine(delay), delay, null)),
      ...history.map((record) => storyDelay(endedLine(record), record, record.by)),
    ],
    next,
  };
}

const storyDelay = (
  line: DelayLine,
  { attemptLog, moveLog }: ListedDelay | DelayRecord,
  by: string | null,
): StoryDelay => ({
  ...line,
  attemptLog: attemptLines(attemptLog),
  moveLog: moveLines(moveLog),
  by,
});
