import { Panel } from '../../../../ui/panel.js';
import { searchHref } from '../address/filter.js';
import { words } from '../words/language.js';

/** Each leads to the delays that have it too. */
export function HeadersPanel({ headers }: { headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <Panel id="headers" title={words.value.delay.headersTitle}>
      <dl class="facts">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>
              <bdi>{name}</bdi>
            </dt>
            <dd class="mono">
              <a href={searchHref({ header: `${name}:${value}` })}>
                <bdi>{value}</bdi>
              </a>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
