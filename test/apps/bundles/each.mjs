import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** Runs one program of each bundle: `node each.mjs [--test] main`. */
const options = process.argv.slice(2);
const program = options.pop();
for (const bundle of readdirSync('out')) {
  const file = readdirSync(`out/${bundle}`).find((name) => name.startsWith(`${program}.`));
  try {
    execFileSync(process.execPath, [...options, `out/${bundle}/${file}`], { encoding: 'utf8' });
  } catch (error) {
    throw new Error(`${bundle}: ${error.stdout}${error.stderr}`);
  }
}
