import { computed, effect, signal } from '@preact/signals';
import { store, stored } from '../stored.js';
import { en, type Words } from './en.js';
import { zh } from './zh.js';

export const LANGUAGES = { en, zh } satisfies Record<string, Words>;
export type Language = keyof typeof LANGUAGES;

const asked = stored('language') ?? navigator.language;
export const language = signal<Language>(asked.startsWith('zh') ? 'zh' : 'en');

/** A component that reads it is rendered again when the language changes. */
export const words = computed<Words>(() => LANGUAGES[language.value]);

export function speak(chosen: Language): void {
  language.value = chosen;
  store('language', chosen);
}

effect(() => {
  document.documentElement.lang = words.value.lang;
  document.title = words.value.title;
});
