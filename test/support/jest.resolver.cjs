/** Relative imports end in `.js`, as Node wants them; under Jest the file beside is still `.ts`. */
module.exports = (request, options) =>
  options.defaultResolver(
    request,
    request.startsWith('.') ? { ...options, extensionAlias: { '.js': ['.ts', '.js'] } } : options,
  );
