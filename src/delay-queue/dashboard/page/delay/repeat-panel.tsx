import cronstrue from 'cronstrue';
import 'cronstrue/locales/zh_CN';
import { Panel } from '../../../../ui/panel.js';
import { duration } from '../../../../ui/written.js';
import type { DelayView } from '../../contract.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';

type Repeat = NonNullable<DelayView['repeat']>;

/** How it recurs, in words, and when next. */
export function RepeatPanel({ repeat }: { repeat: Repeat }) {
  const said = words.value.repeat;
  return (
    <Panel id="repeat" title={said.title}>
      <p>{inWords(repeat)}</p>
      {repeat.cron !== null && (
        <p class="note">
          <code>{repeat.cron}</code> <bdi>{repeat.timeZone ?? 'UTC'}</bdi>
        </p>
      )}
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

function inWords({ every, cron }: Repeat): string {
  const said = words.value;
  if (cron === null) return every === null ? '' : said.repeat.every(duration(said, every));
  const options = {
    locale: said.cronLocale,
    use24HourTimeFormat: true,
    throwExceptionOnParseError: false,
  };
  return cronstrue.toString(cron, options);
}
