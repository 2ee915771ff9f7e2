import { computed } from '@preact/signals';
import { Icon } from '../../../ui/icon.js';
import { known } from '../feed/known.js';
import { visit } from '../shop/visit.js';
import { words } from '../words/language.js';

/** What this visitor has tried, in the order of `words.guide`, of what the shop offers. */
const steps = computed(() => {
  const { placed, raced, hasKilled } = visit;
  const { race, kill } = known.can.value ?? { race: false, kill: false };
  const isOwn = (id: string) => placed.value.has(id) && !raced.value.has(id);
  const own = known.orders.value.filter(({ id }) => isOwn(id));
  return [
    { to: 'stock', isOffered: true, isDone: [...placed.value].some(isOwn) },
    { to: 'orders', isOffered: true, isDone: own.some(({ status }) => status !== 'UNPAID') },
    { to: 'races', isOffered: race, isDone: raced.value.size > 0 },
    { to: 'processes', isOffered: kill, isDone: hasKilled.value },
  ]
    .map((step, at) => ({ ...step, text: words.value.guide[at] }))
    .filter(({ isOffered }) => isOffered);
});

export function Guide() {
  const { guideTitle, guideDone } = words.value;
  const current = steps.value.findIndex(({ isDone }) => !isDone);
  return (
    <div class="guide">
      <h2 class="guide-title">{guideTitle}</h2>
      <ol>
        {steps.value.map(({ to, text, isDone }, at) => (
          <li
            key={at}
            class={isDone ? 'done' : at === current ? 'current' : ''}
            aria-current={at === current ? 'step' : undefined}
          >
            <span class="step" aria-hidden="true">
              {isDone ? <Icon name="check" /> : at + 1}
            </span>
            <span>
              <a href={`#${to}`}>{text}</a>
              {isDone && <span class="unseen"> ({guideDone})</span>}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
