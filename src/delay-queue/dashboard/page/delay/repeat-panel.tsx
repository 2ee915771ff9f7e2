import 'cronstrue/locales/zh_CN';
import { Panel } from '../../../../ui/panel.js';
import { duration } from '../../../../ui/written.js';
import type { DelayView } from '../../contract.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { cronSentence } from './cron-sentence.js';

type Repeat = NonNullable<DelayView['repeat']>;

export function RepeatPanel({ repeat }: { repeat: Repeat }) {
  const said = words.value.repeat;
  const sentence = inWords(repeat);
  return (
    <Panel id="repeat" title={said.title}>
      {sentence !== undefined && <p>{sentence}</p>}
      {repeat.cron !== null && (
        <p class="note">
          <code>{repeat.cron}</code> <bdi>{repeat.timeZone ?? 'UTC'}</bdi>
        </p>
      )}
      {repeat.until !== null && (
        <p>
          {said.until} <When at={repeat.until} />
        </p>
      )}
      {repeat.runsLeft !== null && <p>{said.runsLeft(String(repeat.runsLeft))}</p>}
      {repeat.next.length > 0 && (
        <>
          <h3>{said.next}</h3>
          <ol class="next-instants">
            {repeat.next.map((at) => (
              <li key={at}>
                <When at={at} />
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  );
}

function inWords({ every, cron }: Repeat): string | undefined {
  const said = words.value;
  if (cron !== null) return cronSentence(cron, said.cronLocale);
  return every === null ? undefined : said.repeat.every(duration(said, every));
}
