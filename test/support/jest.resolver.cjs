const { existsSync } = require('node:fs');
const path = require('node:path');

/** Bundled dependencies come from the bundle: `tools/dependencies.mjs`, built by the global setup. */
function bundled(request) {
  const folder = process.env.DELAY_QUEUE_BUNDLE;
  if (folder === undefined || /^[./]/.test(request)) return undefined;
  const file = path.join(folder, `${request.replace('/', '+')}.mjs`);
  return existsSync(file) ? file : undefined;
}

/** Relative imports end in `.js`, as Node wants them; under Jest the file beside is still `.ts`. */
module.exports = (request, options) =>
  bundled(request) ??
  options.defaultResolver(
    request,
    request.startsWith('.') ? { ...options, extensionAlias: { '.js': ['.ts', '.js'] } } : options,
  );
