import { Meter } from '../../../../ui/meter.js';
import { Panel } from '../../../../ui/panel.js';
import { count } from '../../../../ui/written.js';
import type { LimitLine } from '../../contract.js';
import { searchHref } from '../address/filter.js';
import { Empty } from '../parts/empty.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';

export function LimitsPanel({ limits }: { limits: readonly LimitLine[] }) {
  const said = words.value.limits;
  return (
    <Panel id="limits" title={said.title}>
      {limits.length === 0 ? (
        <Empty title={said.none}>{said.noneHint}</Empty>
      ) : (
        <ul class="cards">
          {limits.map((limit) => (
            <Limit key={`${limit.name}\n${limit.group ?? ''}`} limit={limit} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Limit({ limit: { name, group, running, of, fullSince, nextAt } }: { limit: LimitLine }) {
  const said = words.value;
  const { rate, use, full, hasRoom, next } = said.limits;
  return (
    <li>
      <p class="card-head">
        <a href={searchHref({ name, ...(group !== null && { group }) })}>
          <bdi>{group === null ? name : `${name} · ${group}`}</bdi>
        </a>
        <span class="figure">
          {of !== null
            ? use(count(said, running), count(said, of))
            : nextAt === null
              ? said.nodes.running(count(said, running))
              : rate}
        </span>
      </p>
      {of !== null && of > 0 && <Meter of={running / of} />}
      <p class="card-facts">
        {fullSince === null ? (
          hasRoom
        ) : (
          <span class="amber">
            {full} <When at={fullSince} isShort />
          </span>
        )}
        {nextAt && (
          <span>
            {next} <When at={nextAt} isShort />
          </span>
        )}
      </p>
    </li>
  );
}
