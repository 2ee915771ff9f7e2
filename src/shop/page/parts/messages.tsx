import { Panel } from '../../../ui/panel.js';
import { clock } from '../../../ui/written.js';
import { known } from '../feed/known.js';
import { words } from '../words/language.js';

const SHOWN_MAX = 6;

/** The sample provider's outbox: the messages on buyers' phones. */
export function Messages() {
  const { messages: title, noMessages, message } = words.value;
  const messages = known.messages.value.slice(0, SHOWN_MAX);
  return (
    <Panel id="messages" title={title}>
      {messages.length === 0 && <p class="empty">{noMessages}</p>}
      <ol class="feed-list">
        {messages.map(({ id, at, kind, text, no }) => (
          <li key={id}>
            <time class="figure" dateTime={at}>
              {clock(at)}
            </time>
            <span>{message[kind]?.(no) ?? text}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
