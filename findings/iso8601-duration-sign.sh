#!/usr/bin/env bash
# Guessed: '-P1D' is a day back, and 'P0.5D' half a day, as its README allows.
# Seen: iso8601-duration reads '-P1D' as a day ahead, and refuses 'P0.5D', though it takes 'PT0.5H'.
#   Its README says that a sign is not supported yet; it is not refused, either.
# With: iso8601-duration@2.1.4. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  iso8601-duration@2.1.4
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { parse, toSeconds } from 'iso8601-duration';
const secondsOf = (text) => {
  try {
    return toSeconds(parse(text), new Date('2027-01-01T00:00:00Z'));
  } catch {
    return 'refused';
  }
};
const seen = Object.fromEntries(
  ['P1D', '-P1D', 'PT0.5H', 'P0.5D'].map((text) => [text, secondsOf(text)]),
);
const stated = { P1D: 86_400, '-P1D': 86_400, 'PT0.5H': 1_800, 'P0.5D': 'refused' };
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
