import { Panel } from '../../../../ui/panel.js';
import type { NodeLine } from '../../contract.js';
import { Empty } from '../parts/empty.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';

export function NodesPanel({ nodes }: { nodes: readonly NodeLine[] }) {
  const said = words.value.nodes;
  return (
    <Panel id="nodes" title={said.title}>
      {nodes.length === 0 ? (
        <Empty title={said.none}>{said.noneHint}</Empty>
      ) : (
        <ul class="cards">
          {nodes.map((node) => (
            <Node key={node.name} node={node} />
          ))}
        </ul>
      )}
    </Panel>
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
        {running.count > 0 && nextLeaseEndsAt && (
          <span>
            {said.leaseEnds} <When at={nextLeaseEndsAt} isShort />
          </span>
        )}
        <span>
          {said.seen} <When at={seenAt} isShort />
        </span>
        <span>
          {said.started} <When at={startedAt} isShort />
        </span>
      </p>
      <p class="note serves">
        <bdi>{names.join(', ')}</bdi>
      </p>
    </li>
  );
}
