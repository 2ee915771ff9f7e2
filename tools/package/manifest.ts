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
  typeorm: '^0.3.20 || ^1.0.0',
};

/** What the library itself needs and no application has to know of. */
const OWN = ['ms'];

/** Packages that the compiled library may ask for, and no other. */
export const ALLOWED_IMPORTS = [...Object.keys(PEERS), ...OWN];

const AS_MODULE = { types: './lib/esm/index.d.ts', default: './lib/esm/index.js' };

/** The repository's `package.json` is the shop's as well, so the package has one of its own. */
export function manifest(repositoryFile: string): Record<string, unknown> {
  const repository: Repository = JSON.parse(readFileSync(repositoryFile, 'utf8'));
  const { name, version, description, license, engines } = repository;
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
      '.': {
        // Node takes this one for `import` and for `require`, so a process has one copy.
        'module-sync': AS_MODULE,
        import: AS_MODULE,
        default: { types: './lib/cjs/index.d.ts', default: './lib/cjs/index.js' },
      },
      './package.json': './package.json',
    },
    files: ['lib', 'CHANGELOG.md', 'README.zh-CN.md'],
    engines,
    dependencies: Object.fromEntries(OWN.map((own) => [own, repository.dependencies[own]])),
    peerDependencies: PEERS,
  };
}
