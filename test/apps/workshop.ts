import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Application } from './applications.js';
import { follow } from './instructions.js';

const SOURCES = fileURLToPath(new URL('.', import.meta.url));

/** ES modules name the file, others only the module. */
const RELATIVE_IMPORT = /(from '\.\/[\w.-]+)'/g;

const INSTALL = ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund'];

/** Makes applications in a temporary folder: outside of the repository, whose packages they would find. */
export class Workshop {
  readonly #folder = mkdtempSync(join(tmpdir(), 'delay-queue-apps-'));

  constructor(private readonly tarball: string) {}

  /** @returns its folder, with everything but the packages; that of getting started is empty yet */
  make({ name, isComplete = false, hasDashboard = false, scripts }: Application): string {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    cpSync(this.tarball, join(folder, 'nestjs-delay-queue.tgz'));
    if ('heading' in scripts) return folder;
    if (!isComplete) cpSync(join(SOURCES, 'shop'), join(folder, 'src'), { recursive: true });
    if (hasDashboard) cpSync(join(SOURCES, 'dashboard'), join(folder, 'src'), { recursive: true });
    cpSync(join(SOURCES, name), folder, { recursive: true });
    const { type }: { type?: string } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    if (type === 'module') nameFiles(join(folder, 'src'));
    return folder;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** What is to be run in the folder, in this order. */
export function stepsOf(
  { install = INSTALL, scripts }: Application,
  folder: string,
): { what: string; command: string[] }[] {
  if ('heading' in scripts) {
    const commands = follow(scripts.heading, folder);
    return commands.map((what) => ({ what, command: ['sh', '-c', what] }));
  }
  return [
    { what: 'install', command: install },
    ...scripts.map((what) => ({ what, command: ['npm', 'run', what] })),
  ];
}

function nameFiles(folder: string): void {
  for (const file of readdirSync(folder)) {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(RELATIVE_IMPORT, "$1.js'"));
  }
}
