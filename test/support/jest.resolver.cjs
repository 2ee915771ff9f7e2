const { existsSync } = require('node:fs');
const path = require('node:path');

/** The packages that `test/orms` installs have dependencies of their own. */
const ORMS = path.join(__dirname, '../orms/node_modules');

/** Bundled dependencies come from the bundle: `tools/dependencies.mjs`, built by the global setup. */
function bundled(request, { basedir }) {
  const folder = process.env.DELAY_QUEUE_BUNDLE;
  if (folder === undefined || /^[./]/.test(request) || basedir.startsWith(ORMS)) return undefined;
  const file = path.join(folder, `${request.replace('/', '+')}.mjs`);
  return existsSync(file) ? file : undefined;
}

/** Relative imports end in `.js`, as Node wants them; under Jest the file beside is still `.ts`. */
module.exports = (request, options) =>
  bundled(request, options) ??
  options.defaultResolver(
    request,
    request.startsWith('.') ? { ...options, extensionAlias: { '.js': ['.ts', '.js'] } } : options,
  );
