import { computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { store, stored } from './stored.js';
import type { Units } from './written.js';

/** What each language says of itself. */
interface Spoken extends Units {
  /** For `lang` of elements. */
  lang: string;
  /** In that language. */
  name: string;
}

/** All that a page says, in the language of its visitor. */
export interface Languages<Words> {
  all: Record<LanguageName, Words>;
  chosen: Signal<LanguageName>;
  /** A component that reads it is rendered again when the language changes. */
  words: ReadonlySignal<Words>;
}

export type LanguageName = 'en' | 'zh';

/** The visitor's choice, else the browser's language, else English. */
export function languagesOf<Words extends Spoken>(
  all: Record<LanguageName, Words>,
): Languages<Words> {
  const asked = stored('language') ?? navigator.language;
  const chosen = signal<LanguageName>(asked.startsWith('zh') ? 'zh' : 'en');
  const words = computed(() => all[chosen.value]);
  effect(() => {
    document.documentElement.lang = words.value.lang;
  });
  return { all, chosen, words };
}

export function speak({ chosen }: Pick<Languages<unknown>, 'chosen'>, name: LanguageName): void {
  chosen.value = name;
  store('language', name);
}
