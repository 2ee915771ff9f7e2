import { Panel } from '../../../../ui/panel.js';
import type { PauseLine } from '../../contract.js';
import { searchHref } from '../address/filter.js';
import { ResumeButton } from '../act/pause-buttons.js';
import { Empty } from '../parts/empty.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';

export function PausesPanel({ pauses }: { pauses: readonly PauseLine[] }) {
  const said = words.value.pauses;
  return (
    <Panel id="pauses" title={said.title}>
      {pauses.length === 0 ? (
        <Empty title={said.none}>{said.noneHint}</Empty>
      ) : (
        <ul class="cards">
          {pauses.map((pause) => (
            <Pause key={`${pause.name}\n${pause.group ?? ''}`} pause={pause} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Pause({ pause: { name, group, reason, by, pausedAt, until } }: { pause: PauseLine }) {
  const said = words.value.pauses;
  return (
    <li>
      <p class="card-head">
        <a href={searchHref({ name, ...(group !== null && { group }) })}>
          <bdi>{group === null ? name : `${name} · ${group}`}</bdi>
        </a>
        <ResumeButton name={name} group={group} />
      </p>
      <p class="card-facts">
        <span>
          {said.since} <When at={pausedAt} isShort />
        </span>
        <span>
          {until ? (
            <>
              {said.ends} <When at={until} isShort />
            </>
          ) : (
            said.untilResumed
          )}
        </span>
        {by !== null && (
          <span>
            {said.by} <bdi>{by}</bdi>
          </span>
        )}
      </p>
      {reason !== null && (
        <p class="note">
          <bdi>{reason}</bdi>
        </p>
      )}
    </li>
  );
}
