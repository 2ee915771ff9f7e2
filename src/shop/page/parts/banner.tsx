import { connection } from '../feed/connection.js';
import { words } from '../words/language.js';

/**
 * Shown while the shop does not answer. The element is always there, so that its text is read out.
 */
export function Banner() {
  const { lost, lostMore, trouble, troubleMore } = words.value;
  const state = connection.value;
  return (
    <div role="status" class="banner-place">
      {state === 'lost' && <Line title={lost} more={lostMore} />}
      {state === 'trouble' && <Line title={trouble} more={troubleMore} />}
    </div>
  );
}

function Line({ title, more }: { title: string; more: string }) {
  return (
    <p class="banner">
      <span class="frame">
        <b>{title}</b> {more}
      </span>
    </p>
  );
}
