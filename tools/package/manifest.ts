import { readFileSync } from 'node:fs';

/** The part of the repository's `package.json` that the package shares. */
interface Repository {
  name: string;
  version: string;
  description: string;
  license: string;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
}

/** What the application brings. One copy of each is the application's own, so they are peers. */
export const PEERS = {
  '@nestjs/common': '^10.0.0 || ^11.0.0 || ^12.0.0',
  '@nestjs/core': '^10.0.0 || ^11.0.0 || ^12.0.0',
  pg: '^8.0.0',
  'reflect-metadata': '^0.1.13 || ^0.2.0',
};

/** What an application without the option `connection` brings. */
export const TYPEORM = { typeorm: '^0.3.20 || ^1.0.0' };

/** What an application brings if it imports the entry of that name. */
export const OPTIONAL_PEERS = { opentelemetry: { '@opentelemetry/api': '^1.9.0' } };

/** What the library itself needs and no application has to know of. */
const OWN = ['croner', 'ms'];

/** Packages that the compiled library may ask for, and no other. */
export const ALLOWED_IMPORTS = [...Object.keys({ ...PEERS, ...TYPEORM }), ...OWN];

/** An entry, by the file that it is in the library, without its ending. */
function exported(entry: string): Record<string, unknown> {
  const built = (folder: string) => ({
    types: `./lib/${folder}/${entry}.d.ts`,
    default: `./lib/${folder}/${entry}.js`,
  });
  // Node takes the first for `import` and for `require`, so a process has one copy.
  return { 'module-sync': built('esm'), import: built('esm'), default: built('cjs') };
}

/** The entries beside the main one: folders of the library, with an `index` each. */
export const FOLDERS = ['testing', 'opentelemetry', 'adapters', 'dashboard'];

/** For who looks into folders instead of `exports`: the "node10" resolution of TypeScript, and Jest before 28. */
export const folderManifest = (folder: string): Record<string, string> => ({
  main: `../lib/cjs/${folder}/index.js`,
  types: `../lib/cjs/${folder}/index.d.ts`,
});

/** The repository's `package.json` is the shop's as well, so the package has one of its own. */
export function manifest(repositoryFile: string): Record<string, unknown> {
  const repository: Repository = JSON.parse(readFileSync(repositoryFile, 'utf8'));
  const { name, version, description, license, engines } = repository;
  const optional: Record<string, string> = Object.assign(
    {},
    TYPEORM,
    ...Object.values(OPTIONAL_PEERS),
  );
  return {
    name,
    version,
    description,
    keywords: ['nestjs', 'delay', 'delayed', 'timeout', 'timing-wheel', 'postgres', 'typeorm'],
    license,
    type: 'commonjs',
    main: './lib/cjs/index.js',
    types: './lib/cjs/index.d.ts',
    exports: {
      '.': exported('index'),
      ...Object.fromEntries(FOLDERS.map((folder) => [`./${folder}`, exported(`${folder}/index`)])),
      './package.json': './package.json',
    },
    // A link to it stands in node_modules/.bin, on Windows a script that calls it.
    bin: { [name]: './lib/esm/cli/main.js' },
    files: ['lib', ...FOLDERS, 'docs', 'CHANGELOG.md', 'README.zh-CN.md'],
    engines,
    dependencies: Object.fromEntries(OWN.map((own) => [own, repository.dependencies[own]])),
    peerDependencies: { ...PEERS, ...optional },
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(optional).map((peer) => [peer, { optional: true }]),
    ),
  };
}
