import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { livingProcesses } from '../../support/living-processes.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What builds, as it is in the repository. */
const TAKEN = [
  'tools/fresh-build.mjs',
  'tools/swc-options.mjs',
  'tools/page/build.mjs',
  'src/shop/page/tsconfig.json',
  'tsconfig.json',
  'package-lock.json',
];
/** What is built, small. */
const SOURCES = {
  'package.json': '{ "type": "module" }',
  'src/main.ts': `import { price } from './shop/price.js';\nexport const shown: string = String(price);\n`,
  'src/shop/price.ts': 'export const price: number = 100;\n',
  'src/shop/page/main.tsx': 'document.title = "a page";\n',
  'src/shop/page/page.css': 'body { color: red; }\n',
  'src/shop/page/index.html': '<link href="/page.css" /><script src="/main.tsx"></script>\n',
  'migrations/index.ts': 'export const migrations: string[] = [];\n',
};

export interface Built {
  code: number | null;
  output: string;
}

/** A shop of a few lines in a folder of its own, built by the repository's own `tools/fresh-build.mjs`. */
export class SmallShop {
  private constructor(readonly folder: string) {}

  static async create(): Promise<SmallShop> {
    const shop = new SmallShop(await mkdtemp(join(tmpdir(), 'fresh-build-')));
    for (const file of TAKEN) await cp(join(ROOT, file), shop.path(file));
    for (const [file, content] of Object.entries(SOURCES)) await shop.write(file, content);
    await symlink(join(ROOT, 'node_modules'), shop.path('node_modules'));
    return shop;
  }

  path(file: string): string {
    return join(this.folder, file);
  }

  read(file: string): Promise<string> {
    return readFile(this.path(file), 'utf8');
  }

  async write(file: string, content: string): Promise<void> {
    await mkdir(dirname(this.path(file)), { recursive: true });
    await writeFile(this.path(file), content);
  }

  /** What `npm start` runs first. */
  async build(): Promise<Built> {
    const child = fork(this.path('tools/fresh-build.mjs'), { execArgv: [], silent: true });
    livingProcesses().add(child);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    livingProcesses().delete(child);
    return { code, output: stdout + stderr };
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true });
  }
}
