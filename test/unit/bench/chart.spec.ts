import { describe, expect, it } from '@jest/globals';
import { type Chart, drawChart } from '../../../bench/report/chart.js';

const BARS: Chart = {
  title: 'Drain <of> "due" & others',
  subtitle: 'delays per second',
  kind: 'bars',
  markNames: [],
  digits: 0,
  lines: [
    { label: 'ours', highlighted: true, marks: [[900, 1_000, 1_100]] },
    { label: 'theirs', highlighted: false, marks: [[500]] },
    { label: 'who cannot', highlighted: false, marks: [[Number.NaN]] },
  ],
  footer: '2 cores',
};

const RANGES: Chart = {
  ...BARS,
  kind: 'ranges',
  markNames: ['p50', 'p99', 'max'],
  digits: 1,
  lines: [{ label: 'ours', highlighted: true, marks: [[1, 3, 2], [10], [Number.NaN]] }],
};

/** The attributes of all elements of a kind, in the order in which they are drawn. */
const elements = (svg: string, tag: string): Record<string, string>[] =>
  [...svg.matchAll(new RegExp(`<${tag} ([^>]*?)/?>`, 'g'))].map(([, attributes = '']) =>
    Object.fromEntries(
      [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    ),
  );

const bars = (svg: string) => elements(svg, 'rect').filter(({ class: name }) => name !== 'ground');

describe('a chart of bars', () => {
  const svg = drawChart(BARS);

  it('has bars as long as their medians, its own in another colour', () => {
    const [ours, theirs] = bars(svg);
    expect(Number(ours?.width) / Number(theirs?.width)).toBeCloseTo(2, 1);
    expect(ours?.class).toBe('bar ours');
    expect(theirs?.class).toBe('bar');
  });

  it('has a line from the least to the most where there are several rounds', () => {
    const [range, ...more] = elements(svg, 'line').filter((line) => line.class === 'range');
    const [ours] = bars(svg);
    const perUnit = Number(ours?.width) / 1_000;
    expect(Number(range?.x2) - Number(range?.x1)).toBeCloseTo(200 * perUnit, 0);
    expect(more).toEqual([]);
    expect(svg).toContain('2 cores, the line is their range');
  });

  it('leaves out who has no figure', () => {
    expect(bars(svg)).toHaveLength(2);
    expect(svg).not.toContain('who cannot');
  });

  it('says everything in words, too, and escapes them', () => {
    expect(svg).toContain('<title>Drain &lt;of&gt; &quot;due&quot; &amp; others</title>');
    expect(svg).toContain('<desc>ours: 1,000; theirs: 500</desc>');
  });

  it('has colours for light and dark on a ground of its own, and needs nothing from elsewhere', () => {
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
    expect(elements(svg, 'rect')[0]).toMatchObject({ class: 'ground' });
    expect(svg).not.toMatch(/<script|<image|url\(|href/);
  });

  it('keeps every text within its frame', () => {
    const [frame] = elements(svg, 'svg');
    for (const { x } of elements(svg, 'text')) {
      expect(Number(x)).toBeGreaterThanOrEqual(0);
      expect(Number(x)).toBeLessThanOrEqual(Number(frame?.width));
    }
  });
});

describe('a chart of ranges', () => {
  it('has a mark for each median that is known, on a scale of powers of ten', () => {
    const svg = drawChart(RANGES);
    const [p50, p99, ...more] = elements(svg, 'circle').map(({ cx }) => Number(cx));
    expect(more).toEqual([]);
    expect(p99).toBeGreaterThan(Number(p50));
    const ticks = elements(svg, 'line').filter(({ class: name }) => name === 'grid');
    expect(ticks).toHaveLength(2);
    expect(Number(ticks[1]?.x1)).toBe(p99);
    expect(svg).toContain('p50 2.0 · p99 10.0 · max –');
  });
});

it('draws an empty chart of nothing', () => {
  expect(bars(drawChart({ ...BARS, lines: [] }))).toEqual([]);
  expect(elements(drawChart({ ...RANGES, lines: [] }), 'circle')).toEqual([]);
});
