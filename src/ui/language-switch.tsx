import { type LanguageName, type Languages, speak } from './language.js';

interface LanguageSwitchProps {
  languages: Languages<{ lang: string; name: string }>;
  label: string;
}

export function LanguageSwitch({ languages, label }: LanguageSwitchProps) {
  const { all, chosen } = languages;
  return (
    <div class="segments" role="group" aria-label={label}>
      {(Object.keys(all) as LanguageName[]).map((name) => (
        <button
          key={name}
          type="button"
          lang={all[name].lang}
          aria-pressed={chosen.value === name}
          onClick={() => speak(languages, name)}
        >
          {all[name].name}
        </button>
      ))}
    </div>
  );
}
