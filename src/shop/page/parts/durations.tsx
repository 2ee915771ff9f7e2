import { duration } from '../../../ui/written.js';
import type { DurationName } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import { words } from '../words/language.js';

const ORDER: readonly DurationName[] = ['sms', 'remind', 'pay', 'confirm', 'rate'];

/** The durations of this shop beside those that they stand for. */
export function Durations() {
  const mode = known.mode.value;
  if (!mode) return null;
  const said = words.value;
  const isDemo = mode.name === 'demo';
  const rows = mode.durations.toSorted((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
  return (
    <table class="durations">
      <caption>{isDemo ? said.demoTitle : said.realTitle}</caption>
      <thead>
        <tr>
          <th scope="col" class="first">
            {said.waitColumn}
          </th>
          <th scope="col">{said.demoColumn}</th>
          {isDemo && <th scope="col">{said.realColumn}</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, ms, standsForMs }) => (
          <tr key={name} class={name === 'pay' ? 'strong' : ''}>
            <th scope="row">{said.durations[name]}</th>
            <td>{ms === null ? said.off : duration(said, ms)}</td>
            {isDemo && <td class="real">{duration(said, standsForMs)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
