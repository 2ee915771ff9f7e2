import type { ComponentChildren } from 'preact';
import { type Count, LATE_MS, type NameLine, type Overview } from '../../contract.js';
import { hrefOf } from '../address/address.js';
import { searchHref } from '../address/filter.js';
import { words } from '../words/language.js';
import { counted, span } from '../words/written.js';

/** The five figures that say whether to look further. */
export function Figures({ overview: { names, now } }: { overview: Overview }) {
  const said = words.value;
  const late = sumOf(names, 'late');
  const dead = sumOf(names, 'dead');
  const oldestMs = Math.max(-1, ...names.map(({ oldestLateMs }) => oldestLateMs ?? -1));
  const lateTone = oldestMs >= LATE_MS ? 'amber' : '';
  const lateHref = searchHref({ state: ['scheduled', 'retrying'], dueBefore: now });
  return (
    <dl class="figures">
      <Figure name={said.figures.late} tone={lateTone}>
        <a href={lateHref}>{counted(said, late)}</a>
      </Figure>
      <Figure name={said.figures.oldest} tone={lateTone}>
        {oldestMs < 0 ? '–' : <a href={lateHref}>{span(said, oldestMs)}</a>}
      </Figure>
      <Figure name={said.figures.dead} tone={dead.count > 0 ? 'red' : ''}>
        <a href={hrefOf('dead')}>{counted(said, dead)}</a>
      </Figure>
      <Figure name={said.figures.running}>
        <a href={searchHref({ state: ['running'] })}>{counted(said, sumOf(names, 'running'))}</a>
      </Figure>
      <Figure name={said.figures.live}>
        <a href={hrefOf('search')}>{counted(said, sumOf(names, 'live'))}</a>
      </Figure>
    </dl>
  );
}

interface FigureProps {
  name: string;
  tone?: string;
  children: ComponentChildren;
}

function Figure({ name, tone = '', children }: FigureProps) {
  return (
    <div class={tone}>
      <dt>{name}</dt>
      <dd class="figure">{children}</dd>
    </div>
  );
}

/** As certain as the least certain of them. */
function sumOf(names: readonly NameLine[], field: 'late' | 'dead' | 'live' | 'running'): Count {
  const counts = names.map((name) => name[field]);
  const is = (['about', 'atLeast'] as const).find((each) => counts.some((its) => its.is === each));
  return { count: counts.reduce((sum, its) => sum + its.count, 0), is: is ?? 'exact' };
}
