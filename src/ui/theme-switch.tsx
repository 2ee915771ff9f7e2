import { Icon } from './icon.js';
import { theme, toggleTheme } from './theme.js';

interface ThemeSwitchProps {
  toDark: string;
  toLight: string;
}

export function ThemeSwitch({ toDark, toLight }: ThemeSwitchProps) {
  const isDark = theme.value === 'dark';
  return (
    <button
      type="button"
      class="button bare icon-only"
      aria-label={isDark ? toLight : toDark}
      onClick={toggleTheme}
    >
      <Icon name={isDark ? 'sun' : 'moon'} />
    </button>
  );
}
