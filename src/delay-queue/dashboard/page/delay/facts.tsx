import { Panel } from '../../../../ui/panel.js';
import type { DelayView, Instant } from '../../contract.js';
import { searchHref } from '../address/filter.js';
import { asName, FactList } from '../parts/fact.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { span } from '../words/written.js';

export function Facts({ its: { delay, node, by, rerunAt } }: { its: DelayView }) {
  const said = words.value;
  const { facts } = said.delay;
  const { wakeAt, dueAt, maxAttempts, attempts, latenessMs } = delay;
  const isPostponed = wakeAt !== dueAt && delay.state !== 'running';
  return (
    <Panel id="facts" title={said.delay.factsTitle}>
      <FactList
        facts={[
          [facts.due, time(dueAt)],
          [facts.wake, isPostponed ? time(wakeAt) : null],
          [facts.created, time(delay.createdAt)],
          [facts.ended, time(delay.endedAt)],
          [facts.lateness, latenessMs === null ? null : span(said, latenessMs)],
          [facts.attempts, maxAttempts === null ? attempts : `${attempts} / ${maxAttempts}`],
          [facts.rerun, time(rerunAt)],
          [facts.node, asName(node)],
          [facts.by, asName(by)],
          [facts.group, asName(delay.group)],
          [facts.id, delay.id],
        ]}
      />
    </Panel>
  );
}

const time = (at: Instant | null) => at && <When at={at} />;

/** Each links to the delays with the same header. */
export function HeadersPanel({ headers }: { headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <Panel id="headers" title={words.value.delay.headersTitle}>
      <FactList
        class="mono"
        facts={entries.map(([name, value]) => [
          asName(name),
          <a key="link" href={searchHref({ header: `${name}:${value}` })}>
            {asName(value)}
          </a>,
        ])}
      />
    </Panel>
  );
}
