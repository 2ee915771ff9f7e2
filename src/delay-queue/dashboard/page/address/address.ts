import { computed, signal } from '@preact/signals';

/**
 * What is shown is in the query of the address, so that it can be shared, and the back button works.
 * `view` names the view; without it, the overview is shown.
 */
export const VIEWS = [
  'overview',
  'search',
  'delay',
  'story',
  'dead',
  'operations',
  'operation',
] as const;
export type View = (typeof VIEWS)[number];

type Parameters = Record<string, string | undefined>;

const query = signal(location.search);

export const parameters = computed(() => new URLSearchParams(query.value));

export const view = computed<View>(() => {
  const named = parameters.value.get('view');
  return VIEWS.find((known) => known === named) ?? 'overview';
});

export const parameter = (name: string): string => parameters.value.get(name) ?? '';

/** Relative, as all addresses. Parameters without a value are left out. */
export function viewHref(to: View, its: Parameters = {}): string {
  if (to === 'overview') return './';
  const written = new URLSearchParams({ view: to });
  for (const [name, value] of Object.entries(its)) {
    if (value !== undefined) written.set(name, value);
  }
  return `?${written.toString()}`;
}

export function go(href: string): void {
  history.pushState(null, '', href);
  query.value = location.search;
  scrollTo(0, 0);
  requestAnimationFrame(keepFocus);
}

/** When the focused element is gone, the view's heading gets the focus, not the top of the page. */
export function keepFocus(): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  focusHeading();
}

export const focusHeading = (): void =>
  document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });

/** Links of the page lead from view to view, without loading it again. */
export function watchAddress(): void {
  addEventListener('popstate', () => {
    query.value = location.search;
  });
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a');
    const href = link?.getAttribute('href');
    if (!href || !(href === './' || href.startsWith('?')) || link?.target) return;
    const { button, altKey, ctrlKey, metaKey, shiftKey, defaultPrevented } = event;
    if (button !== 0 || altKey || ctrlKey || metaKey || shiftKey || defaultPrevented) return;
    event.preventDefault();
    go(href);
  });
}
