import { median } from './statistics.js';
import { figure } from './table.js';

/** One line of a chart. */
export interface Line {
  label: string;
  /** Of a system that the reader came for. */
  highlighted: boolean;
  /**
   * Bars: the one list has a figure for each round; drawn are the median and the range.
   * Ranges: a list for each mark, from the left to the right; drawn are their medians.
   */
  marks: readonly (readonly number[])[];
}

export interface Chart {
  title: string;
  /** What the figures are, and what is better. */
  subtitle: string;
  /** One bar with its range, or several marks on a line. */
  kind: 'bars' | 'ranges';
  /** Of a chart of ranges, what each mark is. */
  markNames: readonly string[];
  digits: number;
  lines: readonly Line[];
  /** Below: the machine and the number of rounds. */
  footer: string;
}

/** All in pixels. */
const WIDTH = 900;
const MARGIN = 20;
const TOP = 66;
const LINE_HEIGHT = 26;
const BAR_HEIGHT = 14;
const AXIS_HEIGHT = 22;
const FOOTER_HEIGHT = 30;
/** However much room the texts take. */
const PLOT_WIDTH_MIN = 120;
/** Of the sans-serif that a reader has, rather too wide than too narrow. */
const LETTER_WIDTH = 6.7;

/** With a ground of its own, so that it is readable wherever it is put. */
const STYLE = `
  .ground { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e }
  .grid { stroke: #d1d9e0 } .bar { fill: #8c959f } .ours { fill: #0969da }
  .range { stroke: #1f2328 } .mark { fill: #59636e; stroke: #ffffff } .mark.ours { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .text { fill: #f0f6fc } .faint { fill: #9198a1 }
    .grid { stroke: #3d444d } .bar { fill: #6e7681 } .ours { fill: #4493f8 }
    .range { stroke: #f0f6fc } .mark { fill: #9198a1; stroke: #0d1117 } .mark.ours { fill: #4493f8 }
  }
  text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .small { font-size: 11px }`;

/** A chart as an SVG document: no script, no font and no picture from elsewhere. */
export function drawChart(chart: Chart): string {
  const lines = chart.lines.filter(({ marks }) => marks.some((mark) => known(mark).length > 0));
  const left = MARGIN + widestOf(lines.map(({ label }) => label)) + 10;
  const figuresWidth = widestOf(lines.map((line) => described(chart, line))) + 14;
  const plot = { left, width: Math.max(PLOT_WIDTH_MIN, WIDTH - MARGIN - figuresWidth - left) };
  const bottom = TOP + lines.length * LINE_HEIGHT;
  const height = bottom + AXIS_HEIGHT + FOOTER_HEIGHT;
  const scale = scaleOf(chart, lines);
  const x = (value: number): number => round(plot.left + scale.at(value) * plot.width);
  const draw = chart.kind === 'bars' ? drawBar : drawRange;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>${escaped(chart.title)}</title>
<desc>${escaped(lines.map((line) => `${line.label}: ${described(chart, line)}`).join('; '))}</desc>
<style>${STYLE}
</style>
<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>
${text(MARGIN, 28, 'title text', chart.title)}
${text(MARGIN, 48, 'faint', chart.subtitle)}
${scale.ticks.map((tick) => drawTick(tick, x(tick), bottom)).join('\n')}
${lines.map((line, index) => drawLine(chart, line, TOP + (index + 0.5) * LINE_HEIGHT, left, x, draw)).join('\n')}
${text(MARGIN, height - 12, 'small faint', chart.footer + legendOf(chart, lines))}
</svg>
`;
}

type Draw = (
  line: Line,
  y: number,
  x: (value: number) => number,
) => { shapes: string; endX: number };

function drawLine(
  chart: Chart,
  line: Line,
  y: number,
  left: number,
  x: (value: number) => number,
  draw: Draw,
): string {
  const { shapes, endX } = draw(line, y, x);
  return [
    text(left - 8, y + 4, 'text', line.label, 'end'),
    shapes,
    text(endX + 8, y + 4, 'text', described(chart, line)),
  ].join('\n');
}

function drawBar(line: Line, y: number, x: (value: number) => number): ReturnType<Draw> {
  const values = known(line.marks[0] ?? []);
  const [least, most] = [x(Math.min(...values)), x(Math.max(...values))];
  const [start, end] = [x(0), x(median(values))];
  const fill = line.highlighted ? 'bar ours' : 'bar';
  const bar = `<rect class="${fill}" x="${start}" y="${y - BAR_HEIGHT / 2}" width="${round(end - start)}" height="${BAR_HEIGHT}" rx="2"/>`;
  const range = values.length > 1 ? horizontal('range', least, most, y) : '';
  return { shapes: bar + range, endX: Math.max(end, most) };
}

function drawRange(line: Line, y: number, x: (value: number) => number): ReturnType<Draw> {
  const xs = line.marks
    .map((mark) => known(mark))
    .flatMap((mark) => (mark.length === 0 ? [] : [x(median(mark))]));
  const fill = line.highlighted ? 'mark ours' : 'mark';
  const circles = xs.map((cx) => `<circle class="${fill}" cx="${cx}" cy="${y}" r="5"/>`);
  const [first = 0, last = 0] = [xs.at(0), xs.at(-1)];
  return { shapes: horizontal('range', first, last, y) + circles.join(''), endX: last + 4 };
}

function drawTick(tick: number, x: number, bottom: number): string {
  const line = `<line class="grid" x1="${x}" y1="${TOP - 4}" x2="${x}" y2="${bottom}"/>`;
  const digits = tick === 0 || Math.abs(tick) >= 1 ? (Number.isInteger(tick) ? 0 : 1) : 3;
  const shown = digits === 3 ? String(tick) : figure(tick, digits);
  return line + text(x, bottom + 15, 'small faint', shown, 'middle');
}

/** What a line says in figures. */
function described({ kind, markNames, digits }: Chart, { marks }: Line): string {
  if (kind === 'bars') return figure(median(known(marks[0] ?? [])), digits);
  return marks
    .map((mark, index) => `${markNames[index]} ${figure(median(known(mark)), digits)}`)
    .join(' · ');
}

/** Bars have a length and begin at zero; marks may be apart by powers of ten. */
function scaleOf({ kind }: Chart, lines: readonly Line[]): Scale {
  const values = lines.flatMap(({ marks }) => marks.flatMap(known));
  if (kind === 'bars') return linearScale(Math.max(0, ...values));
  const positive = values.filter((value) => value > 0);
  return positive.length === 0
    ? logScale(1, 10)
    : logScale(Math.min(...positive), Math.max(...positive));
}

const legendOf = ({ kind }: Chart, lines: readonly Line[]): string =>
  kind === 'bars' && lines.some(({ marks }) => known(marks[0] ?? []).length > 1)
    ? ', the line is their range'
    : '';

const widestOf = (texts: readonly string[]): number =>
  Math.max(0, ...texts.map(({ length }) => length)) * LETTER_WIDTH;

const known = (values: readonly number[]): number[] =>
  values.filter((value) => Number.isFinite(value));

const horizontal = (name: string, fromX: number, toX: number, y: number): string =>
  `<line class="${name}" x1="${fromX}" y1="${y}" x2="${toX}" y2="${y}" stroke-width="1.5"/>`;

const text = (x: number, y: number, name: string, content: string, anchor = 'start'): string =>
  `<text class="${name}" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(content)}</text>`;

const round = (value: number): number => Math.round(value * 10) / 10;

const escaped = (content: string): string =>
  content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** Where values stand on an axis. */
interface Scale {
  /** 0 at the start of the axis, 1 at its end; what lies before the start stands at 0. */
  at(value: number): number;
  ticks: readonly number[];
}

const TICKS_ABOUT = 5;

/** Steps that people count in. */
const STEPS = [1, 2, 5, 10];

/** From zero to the first round number that is not below `most`. */
function linearScale(most: number): Scale {
  const rough = (most > 0 ? most : 1) / TICKS_ABOUT;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((each) => each * power >= rough) ?? 10) * power;
  const count = Math.max(1, Math.ceil((most > 0 ? most : 1) / step));
  const ticks = Array.from({ length: count + 1 }, (_, index) => tidy(index * step));
  return scaleBetween(ticks, (value) => value);
}

/** Between the powers of ten around `least` and `most`; both must be positive. */
function logScale(least: number, most: number): Scale {
  const first = Math.floor(Math.log10(least));
  const last = Math.max(first + 1, Math.ceil(Math.log10(most)));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => tidy(10 ** (first + index)));
  return scaleBetween(ticks, (value) => Math.log10(value));
}

function scaleBetween(ticks: readonly number[], project: (value: number) => number): Scale {
  const [start, end] = [project(ticks.at(0) ?? 0), project(ticks.at(-1) ?? 1)];
  return {
    ticks,
    at: (value) => Math.max(0, (project(value) - start) / (end - start)),
  };
}

/** 0.30000000000000004 is not what a reader wants to see. */
const tidy = (value: number): number => Number(value.toPrecision(12));
