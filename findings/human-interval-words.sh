#!/usr/bin/env bash
# Guessed: what is a duration in words is read or refused: 'an hour', 'two and a half days'.
# Seen: human-interval answers 0 for 'an hour', which is due at once, and two days for 'two and a
#   half days'. 'one hour' and '2.5 days' are right.
# With: human-interval@2.0.1. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  human-interval@2.0.1
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import humanInterval from 'human-interval';
const HOUR = 3_600_000;
const seen = Object.fromEntries(
  ['one hour', 'an hour', '2.5 days', 'two and a half days'].map((text) => [
    text,
    humanInterval(text) / HOUR,
  ]),
);
const stated = { 'one hour': 1, 'an hour': 0, '2.5 days': 60, 'two and a half days': 48 };
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
