#!/usr/bin/env bash
# Guessed: an interval of minus one day is read as -86,400 seconds, as '1 day' is read as 86,400.
# Seen: it is read as 0, and so is '-01:30:00'; of '1 day -02:00:00' the minus part is left out. Minus one year throws.
# With: slonik@49.10.9, the parser that a pool uses unless told otherwise. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  slonik@49.10.9
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { createIntervalTypeParser } from 'slonik';
const { parse } = createIntervalTypeParser();
const texts = ['1 day', '-1 days', '-01:30:00', '1 day -02:00:00'];
const seen = Object.fromEntries(texts.map((text) => [text, parse(text)]));
const stated = { '1 day': 86_400, '-1 days': 0, '-01:30:00': 0, '1 day -02:00:00': 86_400 };
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
