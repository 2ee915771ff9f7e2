import type { StoryDelay } from '../../contract.js';
import { delayHref } from '../address/filter.js';
import { rowOf } from '../parts/delay-table.js';
import { StatePill } from '../parts/state-pill.js';
import { At, nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';

const WIDTH = 1_000;
const MIDDLE = 10;
/** Keeps round ends inside. */
const MARGIN = 8;

/** From instants to places on the lane. */
type Scale = (iso: string) => number;

/** Each run as a bar on one scale of time: how long it waited, when it was tried, and how it ended. */
export function StoryLanes({ lanes }: { lanes: readonly StoryDelay[] }) {
  const nowMs = nowSeconds.value;
  const instants = lanes
    .flatMap(({ createdAt, dueAt, wakeAt, endedAt }) => [createdAt, dueAt, wakeAt, endedAt])
    .map((at) => (at === null ? Number.NaN : Date.parse(at)))
    .filter((ms) => !Number.isNaN(ms));
  const isOver = lanes.every(({ endedAt }) => endedAt !== null);
  const first = Math.min(...instants);
  const last = Math.max(...instants, isOver ? 0 : nowMs);
  const scale: Scale = (iso) =>
    MARGIN + ((Date.parse(iso) - first) / Math.max(1, last - first)) * (WIDTH - 2 * MARGIN);
  return (
    <>
      <ol class="lanes">
        {lanes.map((delay, at) => (
          <li key={rowOf(delay)} class={`lane lane-${at % 6}`}>
            <p class="lane-name">
              <a href={delayHref(delay)}>
                <bdi>{delay.name}</bdi>
              </a>
              <StatePill state={delay.state} />
            </p>
            <Bar delay={delay} scale={scale} nowMs={nowMs} isOver={isOver} />
          </li>
        ))}
      </ol>
      <p class="lanes-axis note" aria-hidden="true">
        <At at={new Date(first).toISOString()} />
        <At at={new Date(last).toISOString()} />
      </p>
    </>
  );
}

interface BarProps {
  delay: StoryDelay;
  scale: Scale;
  nowMs: number;
  isOver: boolean;
}

/** The list below says the same in words. */
function Bar({ delay, scale, nowMs, isOver }: BarProps) {
  const { createdAt, dueAt, wakeAt, endedAt, moveLog, attemptLog, state } = delay;
  const now = new Date(nowMs).toISOString();
  const end = endedAt ?? (state === 'dead' ? (attemptLog.at(-1)?.endedAt ?? dueAt) : null);
  const until = end ?? (Date.parse(dueAt) > nowMs ? dueAt : now);
  const at = scale(end ?? wakeAt ?? dueAt);
  const waited = Date.parse(until) < Date.parse(dueAt) ? until : dueAt;
  return (
    <svg
      class="lane-bar"
      viewBox={`0 0 ${WIDTH} ${2 * MIDDLE}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words.value.story.bar}
    >
      <path class="waiting" d={`M${scale(createdAt)} ${MIDDLE}H${scale(waited)}`} />
      {Date.parse(until) > Date.parse(dueAt) && (
        <path class="late" d={`M${scale(dueAt)} ${MIDDLE}H${scale(until)}`} />
      )}
      {moveLog.map((move) => (
        <path key={`moved ${move.at}`} class="moved" d={`M${scale(move.at)} 3V17`} />
      ))}
      {attemptLog.map(({ startedAt, outcome, attempt }) => (
        <path
          key={`attempt ${attempt} ${startedAt}`}
          class={`dot outcome-${outcome}`}
          d={`M${scale(startedAt)} ${MIDDLE}h0.01`}
        />
      ))}
      {endedAt === null && Date.parse(wakeAt ?? '') > nowMs && (
        <path class="waiting" d={`M${scale(until)} ${MIDDLE}H${scale(wakeAt!)}`} />
      )}
      <path class={`dot end state-${state}`} d={`M${at} ${MIDDLE}h0.01`} />
      {end === null && <path class="dot hole" d={`M${at} ${MIDDLE}h0.01`} />}
      {!isOver && <path class="now" d={`M${scale(now)} 0V20`} />}
    </svg>
  );
}
