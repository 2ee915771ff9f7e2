import { Panel } from '../../../ui/panel.js';
import { count, lateFor } from '../../../ui/written.js';
import type { Lateness } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import { words } from '../words/language.js';

const WIDTH = 330;
const HEIGHT = 120;
const BASE = 98;
const BAR_MAX = 78;
const GAP = 4;

/** How late delays fired; it fills while the visitor watches. */
export function Histogram() {
  const lateness = known.lateness.value;
  const said = words.value;
  if (!lateness || lateness.count === 0) {
    return (
      <Panel id="lateness" title={said.lateness}>
        <p class="empty">{said.latenessEmpty}</p>
      </Panel>
    );
  }
  return (
    <Panel
      id="lateness"
      title={said.lateness}
      note={said.latenessNote(count(said, lateness.count))}
    >
      <dl class="stats">
        <Stat name={said.median} ms={atMost(lateness.p50Ms, lateness.maxMs)} />
        <Stat name={said.p99} ms={atMost(lateness.p99Ms, lateness.maxMs)} />
        <Stat name={said.worst} ms={lateness.maxMs} />
      </dl>
      <Bars lateness={lateness} />
      <p class="axis note" aria-hidden="true">
        {said.latenessAxis}
      </p>
      <p class="note">{said.latenessSteps}</p>
    </Panel>
  );
}

/** Percentiles are rounded up, but never above the maximum. */
const atMost = (ms: number | null, maxMs: number | null): number | null =>
  ms === null || maxMs === null ? ms : Math.min(ms, maxMs);

function Stat({ name, ms }: { name: string; ms: number | null }) {
  const said = words.value;
  return (
    <div>
      <dt>{name}</dt>
      <dd class="figure">{ms === null ? '–' : lateFor(said, ms)}</dd>
    </div>
  );
}

function Bars({ lateness: { buckets, count: all, p50Ms, p99Ms } }: { lateness: Lateness }) {
  const said = words.value;
  const most = Math.max(1, ...buckets.map((bucket) => bucket.count));
  const step = WIDTH / buckets.length;
  const ms = (value: number | null) => lateFor(said, value ?? 0);
  const spoken = buckets
    .filter((bucket) => bucket.count > 0)
    .map(
      ({ upToMs, count: its }) =>
        `${upToMs === null ? said.above : said.upTo(count(said, upToMs))}: ${its}`,
    )
    .join(', ');
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`${said.latenessText(count(said, all), ms(p50Ms), ms(p99Ms))} ${spoken}.`}
    >
      <line x1="0" x2={WIDTH} y1={BASE + 0.5} y2={BASE + 0.5} />
      {buckets.map(({ upToMs, count: its }, at) => {
        // A single delay stays visible beside thousands.
        const height = its === 0 ? 0 : Math.max(2, (its / most) * BAR_MAX);
        const middle = at * step + step / 2;
        return (
          <g key={upToMs ?? 'above'}>
            <rect x={at * step + GAP / 2} y={BASE - height} width={step - GAP} height={height} />
            {its > 0 && (
              <text class="its" x={middle} y={BASE - height - 5}>
                {its}
              </text>
            )}
            <text x={middle} y={BASE + 15}>
              {upToMs === null ? '>' : upToMs >= 1000 ? '1k' : upToMs}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
