import vm from 'node:vm';

const { SourceTextModule } = vm;

/** By path: what V8 made of the source. */
const known = new Map<string | undefined, { source: string; code: Buffer }>();

/** TypeORM's `import(filePath)` is a text, which it compiles when it is given entities as paths. */
const IMPORTS_DYNAMICALLY = /\bimport\s*\((?!filePath\))/;

/**
 * Jest creates each module anew for each file of tests; a worker parses its source only once. Not if
 * it imports dynamically: code from the cache has lost the callback that Jest gave for that.
 */
vm.SourceTextModule = class extends SourceTextModule {
  constructor(source: string, options: vm.SourceTextModuleOptions = {}) {
    const before = known.get(options.identifier);
    const cachedData = before?.source === source ? before.code : undefined;
    super(source, { ...options, cachedData });
    if (cachedData !== undefined || IMPORTS_DYNAMICALLY.test(source)) return;
    // A module that has run gives none. Its type does not name what it shares with a script.
    const code = (this as unknown as vm.Script).createCachedData();
    known.set(options.identifier, { source, code });
  }
};
