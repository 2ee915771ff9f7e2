import type { StoryDelay } from '../../contract.js';
import { delayHref, rowId } from '../address/filter.js';
import { StatePill } from '../parts/state.js';
import { At, nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';
import { diedAt } from './story-events.js';
import { type Scale, shortenedScale } from './shortened-scale.js';

const WIDTH = 1_000;
const MIDDLE = 10;
/** Room for the rounded ends. */
const MARGIN = 8;

/** Each run as a bar on one scale of time: how long it waited, when it was tried, and how it ended. */
export function StoryLanes({ lanes }: { lanes: readonly StoryDelay[] }) {
  const nowMs = nowSeconds.value;
  const isOver = lanes.every(({ endedAt }) => endedAt !== null);
  const instants = lanes.flatMap(shownInstants);
  if (!isOver) instants.push(new Date(nowMs).toISOString());
  const known = instants.filter((at) => !Number.isNaN(Date.parse(at))).toSorted();
  const whole = shortenedScale(instants);
  const scale: Scale = (iso) => MARGIN + whole(iso) * (WIDTH - 2 * MARGIN);
  return (
    <>
      <ol class="lanes">
        {lanes.map((delay, at) => (
          <li key={rowId(delay)} class={`lane lane-${at % 6}`}>
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
        <At at={known[0] ?? ''} />
        <span>{words.value.story.shortened}</span>
        <At at={known.at(-1) ?? ''} />
      </p>
    </>
  );
}

const shownInstants = ({ createdAt, dueAt, wakeAt, endedAt, ...its }: StoryDelay): string[] =>
  [
    createdAt,
    dueAt,
    wakeAt,
    endedAt,
    ...its.attemptLog.map(({ startedAt }) => startedAt),
    ...its.moveLog.map(({ at }) => at),
  ].filter((at) => at !== null);

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
  const end = endedAt ?? (state === 'dead' ? diedAt(delay) : null);
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
