import { Panel } from '../../../ui/panel.js';
import { clock } from '../../../ui/written.js';
import { known } from '../feed/known.js';
import { words } from '../words/language.js';
import { factsOf, said } from './happening.js';

const SHOWN_MAX = 14;

export function Happenings() {
  const { happenings: title, noHappenings } = words.value;
  const happenings = known.happenings.value.slice(0, SHOWN_MAX);
  return (
    <Panel id="happenings" title={title}>
      {happenings.length === 0 && <p class="empty">{noHappenings}</p>}
      <ol class="feed-list">
        {happenings.map((happening) => (
          <li key={happening.id} class={happening.what.replace('.', '-')}>
            <time class="figure" dateTime={happening.at}>
              {clock(happening.at)}
            </time>
            <span>
              <b class="figure">{happening.no === null ? happening.by : `#${happening.no}`}</b>{' '}
              {said(words.value, happening)}{' '}
              <span class="note">{factsOf(words.value, happening).join(' · ')}</span>
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
