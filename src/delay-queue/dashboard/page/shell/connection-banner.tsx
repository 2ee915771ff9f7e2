import { clock } from '../../../../ui/written.js';
import { connection, overview } from '../api/live.js';
import { words } from '../words/language.js';

/** Shown while no news come. The element is always there, so that its text is read out. */
export function ConnectionBanner() {
  const { lost, trouble, asOf } = words.value;
  const state = connection.value;
  const title = state === 'lost' ? lost : state === 'trouble' ? trouble : null;
  const last = overview.value?.now;
  return (
    <div role="status" class="banner-place">
      {title && (
        <p class="banner">
          <span class="frame">
            <b>{title}</b> {last && asOf(clock(last))}
          </span>
        </p>
      )}
    </div>
  );
}
