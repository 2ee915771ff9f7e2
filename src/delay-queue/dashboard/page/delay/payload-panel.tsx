import { Panel } from '../../../../ui/panel.js';
import type { DelayView } from '../../contract.js';
import { words } from '../words/language.js';
import { indented } from './indented-json.js';

export function PayloadPanel({ payload }: { payload: DelayView['payload'] }) {
  const said = words.value.payload;
  return (
    <Panel id="payload" title={said.title}>
      {payload.is === 'redacted' && <p class="note">{said.redacted}</p>}
      {'json' in payload ? (
        <pre class="json" tabIndex={0} aria-label={said.title}>
          {indented(payload.json)}
        </pre>
      ) : (
        <p class="note">
          {said[payload.is]} {payload.is === 'unreadable' && <bdi>{payload.message}</bdi>}
        </p>
      )}
    </Panel>
  );
}
