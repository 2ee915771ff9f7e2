import { computed } from '@preact/signals';
import { known } from '../feed/known.js';
import { visit } from '../shop/visit.js';
import { words } from '../words/language.js';
import { Icon } from './icon.js';

/** What has been tried already, in the order of `words.guide`. */
const tried = computed(() => [
  known.orders.value.length > 0,
  known.orders.value.some(({ status }) => status !== 'UNPAID'),
  visit.hasRaced.value,
  visit.hasKilled.value,
]);

export function Guide() {
  const { guide, guideTitle, guideDone } = words.value;
  const can = known.can.value;
  const steps = guide.filter((_, at) => (at !== 2 || can?.race) && (at !== 3 || can?.kill));
  const current = steps.findIndex((_, at) => !tried.value[at]);
  return (
    <div class="guide">
      <h2 class="guide-title">{guideTitle}</h2>
      <ol>
        {steps.map((step, at) => {
          const isDone = tried.value[at];
          return (
            <li
              key={at}
              class={isDone ? 'done' : at === current ? 'current' : ''}
              aria-current={at === current ? 'step' : undefined}
            >
              <span class="step" aria-hidden="true">
                {isDone ? <Icon name="check" /> : at + 1}
              </span>
              <span>
                {step}
                {isDone && <span class="unseen"> ({guideDone})</span>}
              </span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
