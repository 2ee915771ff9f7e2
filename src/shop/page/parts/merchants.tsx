import { ActionButton } from '../../../ui/action-button.js';
import { useDeed } from '../../../ui/deed.js';
import { Panel } from '../../../ui/panel.js';
import { clock } from '../../../ui/written.js';
import type { MerchantCard } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import type { Problem } from '../shop/request.js';
import { shop } from '../shop/shop.js';
import { words } from '../words/language.js';
import { Countdown } from './countdown.js';
import { ProblemLine } from './problem-line.js';

const DAY_MS = 24 * 3_600_000;

/** Merchants are reminded every morning; the button does not wait for it. */
export function Merchants() {
  const { merchants: title, merchantsNote } = words.value;
  return (
    <Panel id="merchants" title={title} note={merchantsNote}>
      <ul>
        {known.merchants.value.map((card) => (
          <Merchant key={card.id} card={card} />
        ))}
      </ul>
    </Panel>
  );
}

function Merchant({ card: { id, name: given, timeZone, nextReminderAt, lastReminder } }: Props) {
  const deed = useDeed<Problem>();
  const said = words.value;
  const name = said.merchantNames[given] ?? given;
  return (
    <li class="merchant">
      <div class="merchant-head">
        <b>{name}</b>
        <span class="note">{said.cities[timeZone] ?? timeZone}</span>
        {nextReminderAt && (
          <Countdown
            from={new Date(Date.parse(nextReminderAt) - DAY_MS).toISOString()}
            until={nextReminderAt}
            say={said.nextReminder}
            over={said.reminding}
          />
        )}
        {known.can.value?.race && (
          <ActionButton
            deed={deed}
            name="remind"
            label={said.remindNowOf(name)}
            ask={() => shop.remind(id)}
          >
            {said.remindNow}
          </ActionButton>
        )}
      </div>
      <p class="note">
        {lastReminder
          ? said.lastReminder(clock(lastReminder.at), lastReminder.orders)
          : said.noReminder}
      </p>
      <ProblemLine deed={deed} />
    </li>
  );
}

interface Props {
  card: MerchantCard;
}
