import { signal } from '@preact/signals';
import { count } from '../../../../ui/written.js';
import { Panel } from '../../../../ui/panel.js';
import type { DueTimeline, Overview } from '../../contract.js';
import { dueWithin } from '../../search.table.js';
import { searchHref } from '../address/filter.js';
import { words } from '../words/language.js';
import { DueChart } from './due-chart.js';

const SPANS = ['minute', 'hour', 'day'] as const;

const shown = signal<(typeof SPANS)[number]>('hour');

export function DuePanel({ due }: { due: Overview['due'] }) {
  const said = words.value;
  const timeline = due[shown.value];
  return (
    <Panel id="due" title={said.due.title}>
      <div class="due-head">
        <div class="segments" role="group" aria-label={said.due.span}>
          {SPANS.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={shown.value === name}
              onClick={() => {
                shown.value = name;
              }}
            >
              {said.due[name]}
            </button>
          ))}
        </div>
        <p class="note">
          {totalText(timeline)}{' '}
          <a href={searchHref(dueWithin(timeline.from, timelineEnd(timeline)))}>
            {said.showDelays}
          </a>
        </p>
      </div>
      <DueChart timeline={timeline} label={chartLabel(timeline)} />
    </Panel>
  );
}

const timelineEnd = ({ from, stepMs, counts }: DueTimeline): string =>
  new Date(Date.parse(from) + stepMs * counts.length).toISOString();

function totalText({ counts, atLeast }: DueTimeline): string {
  const said = words.value;
  const total = counts.reduce((sum, each) => sum + each, 0);
  const isCapped = atLeast.includes(true);
  return said.due.total(`${count(said, total)}${isCapped ? '+' : ''}`);
}

function chartLabel(timeline: DueTimeline): string {
  const most = Math.max(0, ...timeline.counts);
  return `${totalText(timeline)} ${words.value.due.most(count(words.value, most))}`;
}
