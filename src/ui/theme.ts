import { signal } from '@preact/signals';
import { store, stored } from './stored.js';

type Theme = 'light' | 'dark';

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
const chosen = stored('theme');
const system = (): Theme => (systemIsDark.matches ? 'dark' : 'light');

/** The visitor's choice, else the system's, which may change while the page is open. */
export const theme = signal<Theme>(chosen === 'light' || chosen === 'dark' ? chosen : system());

let follows = chosen === null;
systemIsDark.addEventListener('change', () => {
  if (follows) theme.value = system();
});

export function applyTheme(): void {
  theme.subscribe((value) => {
    document.documentElement.dataset.theme = value;
  });
}

export function toggleTheme(): void {
  follows = false;
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  store('theme', theme.value);
}
