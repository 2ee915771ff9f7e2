import { useAnswer } from '../api/answer.js';
import { overview as live } from '../api/live.js';
import type { Overview } from '../../contract.js';
import { Answered } from '../parts/answered.js';
import { Title } from '../parts/title.js';
import { words } from '../words/language.js';
import { DuePanel } from './due-panel.js';
import { Figures } from './figures.js';
import { HealthBanner } from './health-banner.js';
import { LimitsPanel } from './limits-panel.js';
import { NamesPanel } from './names-panel.js';
import { NodesPanel } from './nodes-panel.js';
import { PausesPanel } from './pauses-panel.js';

/** What an operator sees first: what is wrong, what comes, and where. */
export function OverviewPage() {
  // The stream brings it too, but not through every proxy.
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
