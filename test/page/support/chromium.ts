import { chromium as playwright, type Browser, type LaunchOptions } from 'playwright-core';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';

const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'];

const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/**
 * A real browser without a window: `CHROMIUM_PATH`, else the one in the npm package
 * `@sparticuz/chromium` (Linux on x64), else one that is installed.
 */
export async function launchChromium(): Promise<Browser> {
  const named = process.env.CHROMIUM_PATH;
  if (named) return launch({ executablePath: named });
  if (process.platform === 'linux' && process.arch === 'x64') return launchPacked(await unpacked());
  const installed = INSTALLED.find((path) => existsSync(path));
  if (installed) return launch({ executablePath: installed });
  throw new Error(
    'The tests of the page need Chromium, and there is none for this platform in node_modules nor ' +
      'one installed. Install Chromium or Chrome, or set CHROMIUM_PATH to one.',
  );
}

const launch = (options: LaunchOptions): Promise<Browser> =>
  playwright.launch({ ...options, args: ARGUMENTS });

/** With nss and nspr of the package where the machine has none; they must not stand before its own. */
async function launchPacked(folder: string): Promise<Browser> {
  const executablePath = join(folder, 'chromium');
  try {
    return await launch({ executablePath });
  } catch (error) {
    if (!String(error).includes('error while loading shared libraries')) throw error;
    const LD_LIBRARY_PATH = join(folder, 'lib');
    return launch({ executablePath, env: { ...inherited(), LD_LIBRARY_PATH } });
  }
}

const inherited = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter((entry) => entry[1] !== undefined),
  ) as Record<string, string>;

/**
 * Not by the package's own `executablePath()`: several workers that unpack into one place would run
 * half of a browser. This folder appears as a whole, and beside the packages: in the shared one for temporary files
 * another user could have put a program of its own.
 */
async function unpacked(): Promise<string> {
  const bin = join(packageFolder(), 'bin');
  const { version }: { version: string } = JSON.parse(
    readFileSync(join(packageFolder(), 'package.json'), 'utf8'),
  );
  const cache = join(packageFolder(), '..', '..', '.cache');
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(`${folder}-`);
  const program = createWriteStream(join(unfinished, 'chromium'), { mode: 0o755 });
  await Promise.all([
    pipeline(createReadStream(join(bin, 'chromium.br')), createBrotliDecompress(), program),
    untar(join(bin, 'al2023.tar.br'), unfinished),
  ]);
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true, force: true }));
  return folder;
}

/** The package names no path but that of its program: `build/<format>/index.js`. */
const packageFolder = (): string =>
  dirname(dirname(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))));

async function untar(archive: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const tar = spawn('tar', ['-x', '-C', folder], { stdio: ['pipe', 'ignore', 'inherit'] });
  const exited = once(tar, 'exit');
  // tar ends at the archive's end mark, and what is padding behind it may find the pipe closed. Its exit code tells
  // whether it had all: of half an archive it is not 0.
  await pipeline(createReadStream(archive), createBrotliDecompress(), tar.stdin).catch(() => {});
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`tar ended with ${code}`);
}
