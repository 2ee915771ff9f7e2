import { preciseClock } from '../../../../ui/written.js';
import { nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';
import { instant, wholeSpan } from '../words/written.js';
import type { StoryEvent } from './story-events.js';
import { StoryWhat } from './story-what.js';

/** Shorter gaps are not worth a word. */
const GAP_MS = 1_000;

/** The events in words, oldest first, with the gaps between them and a mark for now. */
export function StoryLines({ events }: { events: readonly StoryEvent[] }) {
  const nowMs = nowSeconds.value;
  const ahead = events.findIndex(({ atMs }) => atMs > nowMs);
  return (
    <ol class="story-lines">
      {events.map((event, at) => (
        <Line
          key={eventKey(event)}
          event={event}
          before={events[at - 1]}
          isNext={at === ahead}
          nowMs={nowMs}
        />
      ))}
      {ahead === -1 && <Now />}
    </ol>
  );
}

const eventKey = (event: StoryEvent): string => {
  if (event.what === 'operation') return `operation ${event.operation.id}`;
  const attempt = event.what === 'attempt' ? event.attempt.attempt : '';
  return `${event.what} ${event.delay.id} ${event.lane} ${attempt} ${event.at}`;
};

interface LineProps {
  event: StoryEvent;
  before: StoryEvent | undefined;
  /** The first that lies ahead. */
  isNext: boolean;
  nowMs: number;
}

function Line({ event, before, isNext, nowMs }: LineProps) {
  const said = words.value;
  const sinceMs = before ? event.atMs - before.atMs : 0;
  const isNewDay = !before || calendarDay(before.at) !== calendarDay(event.at);
  const lane = event.what === 'operation' ? 'operation' : `lane-${event.lane % 6}`;
  return (
    <>
      {isNext && <Now />}
      <li class={`story-line ${event.what} ${lane} ${event.atMs > nowMs ? 'ahead' : ''}`}>
        <time class="story-at figure" dateTime={event.at} title={event.at}>
          {isNewDay && <span class="day">{instantDay(event.at, nowMs)}</span>}
          {preciseClock(event.at)}
          {sinceMs >= GAP_MS && <span class="gap">+{wholeSpan(said, sinceMs)}</span>}
        </time>
        <div class="story-what">
          <StoryWhat event={event} />
        </div>
      </li>
    </>
  );
}

function Now() {
  return (
    <li class="story-now">
      <span>{words.value.story.now}</span>
    </li>
  );
}

const calendarDay = (iso: string): string => new Date(iso).toDateString();

/** The date alone; none for today. */
const instantDay = (iso: string, nowMs: number): string =>
  instant(words.value, iso, nowMs)
    .split(/ \d\d:/, 1)[0]!
    .replace(/^\d\d:.*/, '');
