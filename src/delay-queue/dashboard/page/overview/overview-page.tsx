import type { ComponentChildren } from 'preact';
import { LATE_MS, type NoteLine, type Overview, sumCounts } from '../../contract.js';
import { overdueAt } from '../../search.table.js';
import { viewHref } from '../address/address.js';
import { searchHref } from '../address/filter.js';
import { useAnswer } from '../api/answer.js';
import { connection, overview as live } from '../api/live.js';
import { Answered } from '../parts/answered.js';
import { Title } from '../parts/title.js';
import { words } from '../words/language.js';
import { counted, span } from '../words/written.js';
import { LimitsPanel, NodesPanel, PausesPanel } from './cards.js';
import { DuePanel } from './due-panel.js';
import { NamesPanel } from './names-panel.js';

/** What an operator sees first: what is wrong, what is coming, and where. */
export function OverviewPage() {
  // The stream sends it too, but not every proxy lets that through.
  const answer = useAnswer<Overview>('overview');
  const latest = live.value;
  return (
    <>
      <Title text={words.value.tabs.overview} isUnseen />
      {latest ? <Parts overview={latest} /> : <Answered answer={answer}>{parts}</Answered>}
    </>
  );
}

const parts = (overview: Overview) => <Parts overview={overview} />;

function Parts({ overview }: { overview: Overview }) {
  return (
    <div class="overview">
      <HealthBanner overview={overview} />
      <Figures overview={overview} />
      <DuePanel due={overview.due} />
      <NamesPanel overview={overview} />
      <div class="trio">
        {overview.nodes && <NodesPanel nodes={overview.nodes} />}
        <PausesPanel pauses={overview.pauses} />
        <LimitsPanel limits={overview.limits} />
      </div>
    </div>
  );
}

/** Whether all is well, and what is not; each reason leads to its delays. */
export function HealthBanner({ overview: { health } }: { overview: Overview }) {
  if (health === null) return null;
  const said = words.value.health;
  // A good answer from a while ago says nothing about now.
  const isOld = connection.value === 'lost' || connection.value === 'trouble';
  const status = isOld ? 'unknown' : health.status;
  const isWell = status === 'up' && health.notes.length === 0;
  const lines = isOld ? [] : [...health.reasons, ...health.notes];
  return (
    <section
      class={`health ${isWell ? 'up' : status === 'up' ? 'noted' : status}`}
      aria-labelledby="health-title"
    >
      <h2 id="health-title">{isWell ? said.well : said[status]}</h2>
      {lines.length > 0 && (
        <ul>
          {lines.map((line, at) => (
            <li key={`${line.reason} ${at}`}>
              <Reason line={line} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Reason({ line: { reason, text, search } }: { line: NoteLine }) {
  const { healthReasons, showDelays } = words.value;
  const title = healthReasons[reason];
  return (
    <>
      {title && <b>{title}</b>}
      <span lang="en">
        <bdi>{text}</bdi>
      </span>
      {search && <a href={searchHref(search)}>{showDelays}</a>}
    </>
  );
}

export function Figures({ overview: { names, now } }: { overview: Overview }) {
  const said = words.value;
  const late = sumCounts(names.map((line) => line.late));
  const dead = sumCounts(names.map((line) => line.dead));
  const oldestMs = Math.max(-1, ...names.map(({ oldestLateMs }) => oldestLateMs ?? -1));
  const lateTone = oldestMs >= LATE_MS ? 'amber' : '';
  const lateHref = searchHref(overdueAt(now));
  return (
    <dl class="figures">
      <Figure name={said.figures.late} tone={lateTone}>
        <a href={lateHref}>{counted(said, late)}</a>
      </Figure>
      <Figure name={said.figures.oldest} tone={lateTone}>
        {oldestMs < 0 ? '–' : <a href={lateHref}>{span(said, oldestMs)}</a>}
      </Figure>
      <Figure name={said.tabs.dead} tone={dead.count > 0 ? 'red' : ''}>
        <a href={viewHref('dead')}>{counted(said, dead)}</a>
      </Figure>
      <Figure name={said.states.running}>
        <a href={searchHref({ state: ['running'] })}>
          {counted(said, sumCounts(names.map((line) => line.running)))}
        </a>
      </Figure>
      <Figure name={said.names.live}>
        <a href={viewHref('search')}>{counted(said, sumCounts(names.map((line) => line.live)))}</a>
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
