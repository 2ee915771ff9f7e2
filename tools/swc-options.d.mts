import type { Options } from '@swc/core';

export const SWC_OPTIONS: Options;
