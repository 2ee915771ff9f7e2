import { clock } from '../../../../ui/written.js';
import { connection, overview, trouble } from '../api/live.js';
import { words } from '../words/language.js';

/** Shown while no news come. The element is always there, so that its text is read out. */
export function ConnectionBanner() {
  const { lost, asOf, problems } = words.value;
  const state = connection.value;
  const title =
    state === 'lost'
      ? lost
      : state === 'trouble' && trouble.value
        ? problems[trouble.value.problem]
        : null;
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
