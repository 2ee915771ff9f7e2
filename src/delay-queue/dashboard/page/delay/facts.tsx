import type { ComponentChildren } from 'preact';
import { Panel } from '../../../../ui/panel.js';
import type { DelayView, Instant } from '../../contract.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { span } from '../words/written.js';

export function Facts({ its: { delay, node, by, rerunAt } }: { its: DelayView }) {
  const said = words.value;
  const { facts } = said.delay;
  const { wakeAt, dueAt, maxAttempts, attempts, latenessMs } = delay;
  const isPostponed = wakeAt !== null && wakeAt !== dueAt && delay.state !== 'running';
  return (
    <Panel id="facts" title={said.delay.factsTitle}>
      <dl class="facts">
        <Fact name={facts.due}>{time(dueAt)}</Fact>
        {isPostponed && <Fact name={facts.wake}>{time(wakeAt)}</Fact>}
        <Fact name={facts.created}>{time(delay.createdAt)}</Fact>
        {delay.endedAt && <Fact name={facts.ended}>{time(delay.endedAt)}</Fact>}
        {latenessMs !== null && <Fact name={facts.lateness}>{span(said, latenessMs)}</Fact>}
        <Fact name={facts.attempts}>
          {maxAttempts === null ? attempts : `${attempts} / ${maxAttempts}`}
        </Fact>
        {rerunAt && <Fact name={facts.rerun}>{time(rerunAt)}</Fact>}
        {node !== null && <Fact name={facts.node}>{text(node)}</Fact>}
        {by !== null && <Fact name={facts.by}>{text(by)}</Fact>}
        {delay.group !== null && <Fact name={facts.group}>{text(delay.group)}</Fact>}
        <Fact name={facts.id}>{delay.id}</Fact>
      </dl>
    </Panel>
  );
}

const time = (at: Instant) => <When at={at} />;
const text = (its: string) => <bdi>{its}</bdi>;

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="figure">{children}</dd>
    </div>
  );
}
