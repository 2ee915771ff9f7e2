/**
 * Imported before all else: uPlot makes a number format of the browser's language when it is loaded,
 * and Chromium has names for it that are no language tags, such as `en-US@posix` where `LANG` is `C`.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
