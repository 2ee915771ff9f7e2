import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { theme } from '../../../../ui/theme.js';
import { count } from '../../../../ui/written.js';
import type { DueTimeline } from '../../contract.js';
import { dueWithin } from '../../search.table.js';
import { go } from '../address/address.js';
import { searchHref } from '../address/filter.js';
import { words } from '../words/language.js';
import { instant } from '../words/written.js';

const HEIGHT = 150;

interface DueChartProps {
  timeline: DueTimeline;
  /** The chart in words, for screen readers. */
  label: string;
}

/** Bars; a click on one leads to its delays. */
export function DueChart({ timeline, label }: DueChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(timeline);
  const pointed = useSignal<number | null>(null);
  latest.current = timeline;
  const { stepMs } = timeline;
  useEffect(() => {
    const made = new uPlot(
      {
        ...chartOptions(place.current!.clientWidth, () => latest.current),
        hooks: { setCursor: [({ cursor: { idx } }) => (pointed.value = idx ?? null)] },
      },
      chartData(latest.current),
      place.current!,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => {
      const width = place.current?.clientWidth ?? 0;
      if (width > 0) made.setSize({ width, height: HEIGHT });
    });
    resized.observe(place.current!);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [stepMs, theme.value]);
  useEffect(() => plot.current?.setData(chartData(timeline)), [timeline]);
  const open = (): void => {
    if (pointed.value !== null) go(hrefOfBucket(timeline, pointed.value));
  };
  return (
    <>
      {/* What a click does the link above does for the whole span. */}
      <div class="chart" role="img" aria-label={label} ref={place} onClick={open} />
      <p class="note chart-note" aria-hidden="true">
        {pointed.value === null ? words.value.due.point : bucketText(timeline, pointed.value)}
      </p>
    </>
  );
}

/** Seconds, and the middle of each bucket. */
function chartData({ from, stepMs, counts }: DueTimeline): uPlot.AlignedData {
  const begins = Date.parse(from);
  return [counts.map((_count, at) => (begins + at * stepMs + stepMs / 2) / 1_000), [...counts]];
}

/** Seconds: with the halves of the first and the last bar. */
function timeSpan({ from, stepMs, counts }: DueTimeline): [number, number] {
  const begins = Date.parse(from);
  return [begins / 1_000, (begins + stepMs * counts.length) / 1_000];
}

const stepStart = ({ from, stepMs }: DueTimeline, at: number): string =>
  new Date(Date.parse(from) + at * stepMs).toISOString();

const hrefOfBucket = (timeline: DueTimeline, at: number): string =>
  searchHref(dueWithin(stepStart(timeline, at), stepStart(timeline, at + 1)));

function bucketText(timeline: DueTimeline, at: number): string {
  const said = words.value;
  const n = timeline.counts[at] ?? 0;
  const begin = stepStart(timeline, at);
  const text = `${count(said, n)}${timeline.atLeast[at] ? '+' : ''}`;
  return said.due.bucket(text, instant(said, begin, Date.parse(timeline.from)));
}

/** Colors of the theme; the canvas knows no variables. */
function chartOptions(width: number, timeline: () => DueTimeline): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color('--ink-3'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    padding: [8, 4, 0, 0],
    scales: {
      x: { range: () => timeSpan(timeline()) },
      y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 26, values: clockOfTicks },
      { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000] },
    ],
    series: [
      {},
      {
        fill: color('--accent'),
        stroke: color('--accent'),
        width: 0,
        points: { show: false },
        ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.82, 40] }) }),
      },
    ],
  };
}

/** `14:02`, or `14:02:10` where minutes are not enough. */
function clockOfTicks(_plot: uPlot, ticks: number[]): string[] {
  const isFine = ticks.some((tick) => tick % 60 !== 0);
  return ticks.map((tick) => new Date(tick * 1_000).toTimeString().slice(0, isFine ? 8 : 5));
}
