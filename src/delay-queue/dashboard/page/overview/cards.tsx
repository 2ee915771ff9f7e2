import type { ComponentChildren, VNode } from 'preact';
import { Meter } from '../../../../ui/meter.js';
import { Panel } from '../../../../ui/panel.js';
import { count } from '../../../../ui/written.js';
import type { Instant, LimitLine, NodeLine, PauseLine } from '../../contract.js';
import { AskButton } from '../act/act-buttons.js';
import { Empty } from '../parts/answered.js';
import { fullName, NameLink } from '../parts/name-link.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';

interface CardsProps {
  id: 'nodes' | 'pauses' | 'limits';
  children: VNode[];
}

function Cards({ id, children }: CardsProps) {
  const { title, none, noneHint } = words.value[id];
  return (
    <Panel id={id} title={title}>
      {children.length === 0 ? (
        <Empty title={none}>{noneHint}</Empty>
      ) : (
        <ul class="cards">{children}</ul>
      )}
    </Panel>
  );
}

export function NodesPanel({ nodes }: { nodes: readonly NodeLine[] }) {
  return (
    <Cards id="nodes">
      {nodes.map((node) => (
        <Node key={node.name} node={node} />
      ))}
    </Cards>
  );
}

function Node({ node }: { node: NodeLine }) {
  const said = words.value.nodes;
  const { name, names, isSilent, seenAt, startedAt, running, nextLeaseEndsAt } = node;
  return (
    <li>
      <p class="card-head">
        <b>
          <bdi>{name}</bdi>
        </b>
        <span class={`pill ${isSilent ? 'red' : 'green'}`}>{isSilent ? said.silent : said.up}</span>
      </p>
      <p class="card-facts">
        {said.running(counted(words.value, running))}
        {running.count > 0 && nextLeaseEndsAt && <Fact at={nextLeaseEndsAt}>{said.leaseEnds}</Fact>}
        <Fact at={seenAt}>{said.seen}</Fact>
        <Fact at={startedAt}>{said.started}</Fact>
      </p>
      <p class="note serves">
        <bdi>{names.join(', ')}</bdi>
      </p>
    </li>
  );
}

export function PausesPanel({ pauses }: { pauses: readonly PauseLine[] }) {
  return (
    <Cards id="pauses">
      {pauses.map((pause) => (
        <Pause key={fullName(pause)} pause={pause} />
      ))}
    </Cards>
  );
}

function Pause({ pause }: { pause: PauseLine }) {
  const { pauses: said, acting, actions } = words.value;
  const { name, group, reason, by, pausedAt, until } = pause;
  return (
    <li>
      <p class="card-head">
        <NameLink its={pause} />
        <AskButton
          asks={{ action: 'resume', name, group }}
          class="button"
          label={acting.resumeName(fullName(pause))}
        >
          {actions.resume}
        </AskButton>
      </p>
      <p class="card-facts">
        <Fact at={pausedAt}>{said.since}</Fact>
        {until ? <Fact at={until}>{said.ends}</Fact> : <span>{said.untilResumed}</span>}
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

export function LimitsPanel({ limits }: { limits: readonly LimitLine[] }) {
  return (
    <Cards id="limits">
      {limits.map((limit) => (
        <Limit key={fullName(limit)} limit={limit} />
      ))}
    </Cards>
  );
}

function Limit({ limit }: { limit: LimitLine }) {
  const said = words.value;
  const { running, of, fullSince, nextAt } = limit;
  const { rate, use, full, hasRoom, next } = said.limits;
  return (
    <li>
      <p class="card-head">
        <NameLink its={limit} />
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
          <Fact at={fullSince} class="amber">
            {full}
          </Fact>
        )}
        {nextAt && <Fact at={nextAt}>{next}</Fact>}
      </p>
    </li>
  );
}

interface FactProps {
  at: Instant;
  class?: string;
  children: ComponentChildren;
}

function Fact({ at, children, ...its }: FactProps) {
  return (
    <span {...its}>
      {children} <When at={at} isShort />
    </span>
  );
}
