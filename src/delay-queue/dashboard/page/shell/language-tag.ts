/**
 * Imported first: uPlot builds a number format for the browser's language when it loads, and Chromium
 * may report one that is no language tag, such as `en-US@posix` where `LANG` is `C`.
 */
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
