import { ActionButton } from '../../../ui/action-button.js';
import { useDeed } from '../../../ui/deed.js';
import { Meter } from '../../../ui/meter.js';
import { Panel } from '../../../ui/panel.js';
import { serverClock } from '../../../ui/server-clock.js';
import { count } from '../../../ui/written.js';
import type { CampaignCard } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import type { Problem } from '../shop/request.js';
import { shop } from '../shop/shop.js';
import { words } from '../words/language.js';
import { ProblemLine } from './problem-line.js';

const RECIPIENTS = 200;

/** The progress of campaigns, and a small one of each merchant to try. */
export function Campaigns() {
  const deed = useDeed<Problem>();
  const said = words.value;
  const { campaigns: title, campaignsNote, campaignText, newCampaign } = said;
  return (
    <Panel id="campaigns" title={title} note={campaignsNote}>
      <ul class="campaign-list">
        {known.campaigns.value.map((card) => (
          <Campaign key={card.id} card={card} />
        ))}
      </ul>
      {known.can.value?.race && (
        <p class="campaign-starts">
          {known.merchants.value.map(({ id, name }) => (
            <ActionButton
              key={id}
              deed={deed}
              name={id}
              ask={() =>
                shop.campaign({
                  merchant: id,
                  at: new Date(serverClock.now()).toISOString(),
                  message: campaignText,
                  recipients: madeUpNumbers(),
                })
              }
            >
              {newCampaign(RECIPIENTS, said.merchantNames[name] ?? name)}
            </ActionButton>
          ))}
        </p>
      )}
      <ProblemLine deed={deed} />
    </Panel>
  );
}

const madeUpNumbers = (): string[] =>
  Array.from({ length: RECIPIENTS }, (_, at) => `+861380000${String(at).padStart(4, '0')}`);

function Campaign({ card: { id, merchant, state, message, counts } }: { card: CampaignCard }) {
  const deed = useDeed<Problem>();
  const { campaignState, merchantNames, sentOf, stop, resume } = words.value;
  const whose = known.merchants.value.find((card) => card.id === merchant)?.name ?? merchant;
  const over = counts.sent + counts.failed;
  const next = { SCHEDULED: 'stop', RUNNING: 'stop', STOPPED: 'resume', COMPLETED: null } as const;
  const to = next[state];
  return (
    <li class={`campaign ${state.toLowerCase()}`}>
      <div class="campaign-head">
        <span class={`pill campaign-${state.toLowerCase()}`}>{campaignState[state]}</span>
        <span class="campaign-text">
          {merchantNames[whose] ?? whose}: {message}
        </span>
        <span class="note figure">
          {sentOf(count(words.value, counts.sent), count(words.value, counts.total))}
        </span>
        {to && (
          <ActionButton deed={deed} name={to} ask={() => shop.moveCampaign(id, to)}>
            {to === 'stop' ? stop : resume}
          </ActionButton>
        )}
      </div>
      <Meter of={counts.total === 0 ? 0 : over / counts.total} />
      <ProblemLine deed={deed} />
    </li>
  );
}
