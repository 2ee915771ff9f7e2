import { ActionButton } from '../../../ui/action-button.js';
import { useDeed } from '../../../ui/deed.js';
import { Meter } from '../../../ui/meter.js';
import { Panel } from '../../../ui/panel.js';
import { clock, count } from '../../../ui/written.js';
import type { ProcessCard } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import type { Problem } from '../shop/request.js';
import { shop } from '../shop/shop.js';
import { visit } from '../shop/visit.js';
import { words } from '../words/language.js';
import { ProblemLine } from './problem-line.js';

export function Processes() {
  const { processes: title, processesNote } = words.value;
  const processes = known.processes.value;
  const most = Math.max(1, ...processes.map(({ fired }) => fired));
  return (
    <Panel id="processes" title={title} note={processes.length > 1 ? processesNote : undefined}>
      <ul class="process-list">
        {processes.map((card) => (
          <Process key={card.name} card={card} share={card.fired / most} />
        ))}
      </ul>
    </Panel>
  );
}

function Process({ card, share }: { card: ProcessCard; share: number }) {
  const deed = useDeed<Problem>();
  const { processState, pid, kill, killOf, sendsThisPage, firedLabel, since } = words.value;
  const { name, state } = card;
  return (
    <li class={`process ${state}`} data-process={name}>
      <div class="process-head">
        <b>{name}</b>
        <span class={`pill process-${state}`}>{processState[state]}</span>
        <span class="note figure">
          {card.pid === null ? since(clock(card.since)) : pid(card.pid)}
        </span>
      </div>
      <p class="process-fired">
        <b class="figure">{count(words.value, card.fired)}</b>{' '}
        <span class="note">{firedLabel}</span>
        <Meter of={share} />
      </p>
      <div class="process-foot">
        {known.can.value?.kill && (
          <ActionButton
            deed={deed}
            name="kill"
            look="danger"
            label={killOf(name)}
            off={state !== 'up'}
            ask={async () => {
              await shop.kill(name);
              visit.hasKilled.value = true;
            }}
          >
            {kill}
          </ActionButton>
        )}
        {known.servedBy.value === name && <span class="note">{sendsThisPage}</span>}
      </div>
      <ProblemLine deed={deed} />
    </li>
  );
}
