import { Panel } from '../../../../ui/panel.js';
import type { DelayView, Instant } from '../../contract.js';
import { searchHref } from '../address/filter.js';
import { Fact } from '../parts/fact.js';
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

/** Each links to the delays with the same header. */
export function HeadersPanel({ headers }: { headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <Panel id="headers" title={words.value.delay.headersTitle}>
      <dl class="facts">
        {entries.map(([name, value]) => (
          <Fact key={name} name={<bdi>{name}</bdi>} class="mono">
            <a href={searchHref({ header: `${name}:${value}` })}>
              <bdi>{value}</bdi>
            </a>
          </Fact>
        ))}
      </dl>
    </Panel>
  );
}
