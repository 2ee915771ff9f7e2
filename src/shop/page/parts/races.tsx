import { signal } from '@preact/signals';
import { ActionButton } from '../../../ui/action-button.js';
import { useDeed } from '../../../ui/deed.js';
import { Panel } from '../../../ui/panel.js';
import { known } from '../feed/known.js';
import type { Problem } from '../shop/request.js';
import { shop, type Race } from '../shop/shop.js';
import { hasRaced } from '../shop/visit.js';
import { words } from '../words/language.js';
import { Countdown } from './countdown.js';
import { PlacedLine } from './placed-line.js';
import { ProblemLine } from './problem-line.js';

const RACES: readonly Race[] = [
  'pay-at-the-last-moment',
  'pay-after-the-close',
  'close-while-paid',
];
const REFUNDS_FAIL_FOR_S = 20;

const failsUntil = signal<string | null>(null);
const lastRaced = signal<string | null>(null);

export function Races() {
  const deed = useDeed<Problem>();
  const { races, racesNote, race: said } = words.value;
  if (!known.can.value?.race) return null;
  return (
    <Panel id="races" title={races} note={racesNote}>
      <ul class="choices">
        {RACES.map((race) => (
          <li key={race}>
            <ActionButton
              deed={deed}
              name={race}
              ask={async () => {
                const { orderId } = await shop.race(race);
                lastRaced.value = orderId;
                hasRaced(orderId);
              }}
            >
              {said[race].label}
            </ActionButton>
            <p class="note">{said[race].note}</p>
          </li>
        ))}
        <FailingRefunds />
      </ul>
      <PlacedLine orderId={lastRaced.value} />
      <ProblemLine deed={deed} />
    </Panel>
  );
}

/** Makes the sample payment provider fail. */
function FailingRefunds() {
  const deed = useDeed<Problem>();
  const { failRefunds, failRefundsNote, refundsFail } = words.value;
  const until = failsUntil.value;
  return (
    <li>
      <ActionButton
        deed={deed}
        name="fail"
        ask={async () => {
          failsUntil.value = (await shop.failRefunds(REFUNDS_FAIL_FOR_S)).until;
        }}
      >
        {failRefunds}
      </ActionButton>
      <p class="note">
        {failRefundsNote}{' '}
        {until && <Countdown from={until} until={until} say={refundsFail} over="" />}
      </p>
      <ProblemLine deed={deed} />
    </li>
  );
}
