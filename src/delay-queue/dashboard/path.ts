import { RequestMethod } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';

/** One entry of `exclude` of the global prefix, as Nest 10 to 12 keep it. */
interface Excluded {
  pathRegex: RegExp;
  requestMethod?: RequestMethod;
}

/** Where the dashboard stands below the HTTP server of the application: with the global prefix, unless it excludes the path. */
export function addressBelow(
  path: string,
  config: Pick<ApplicationConfig, 'getGlobalPrefix' | 'getGlobalPrefixOptions'>,
): string {
  const prefix = config.getGlobalPrefix().replaceAll(/^\/+|\/+$/g, '');
  const { exclude = [] } = config.getGlobalPrefixOptions() as { exclude?: readonly Excluded[] };
  const isExcluded = exclude.some(
    ({ pathRegex, requestMethod = RequestMethod.ALL }) =>
      [RequestMethod.ALL, RequestMethod.GET].includes(requestMethod) && pathRegex.test(`/${path}`),
  );
  return prefix === '' || isExcluded ? `/${path}` : `/${prefix}/${path}`;
}
