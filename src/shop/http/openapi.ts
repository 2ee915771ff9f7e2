import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { z } from 'zod';
import { DOCS_HEADERS } from './page-headers.js';
import { KINDS, problem } from './problem.js';
import { PROBLEM_TYPE } from './problem.filter.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

const DESCRIPTION = `Orders that close, confirm and rate themselves. Money is in integer cents.

Every error is a problem of RFC 9457, \`${PROBLEM_TYPE}\`. Where its type is \`about:blank\` the status
says it all; beside that there are:

${Object.entries(KINDS)
  .map(([kind, { status, title }]) => `- \`/docs#${kind}\` (${status}): ${title}`)
  .join('\n')}`;

/** The page at `/docs`, and its document. */
export function serveOpenApi(app: NestExpressApplication): void {
  const info = new DocumentBuilder()
    .setTitle('A shop on nestjs-delay-queue')
    .setDescription(DESCRIPTION)
    .setVersion('1.0')
    .build();
  app.use('/docs', (_request: Request, response: Response, next: NextFunction) => {
    response.set(DOCS_HEADERS);
    next();
  });
  SwaggerModule.setup('docs', app, () => withProblems(SwaggerModule.createDocument(app, info)), {
    jsonDocumentUrl: 'docs/openapi.json',
    customSiteTitle: info.info.title,
  });
}

/** The errors that any route can return, and their only media type. */
function withProblems(document: OpenAPIObject): OpenAPIObject {
  const schema = { $ref: '#/components/schemas/Problem' };
  // As input, because a problem may have more fields.
  const Problem = z.toJSONSchema(problem, { target: 'openapi-3.0', io: 'input' }) as object;
  document.components = { ...document.components };
  document.components.schemas = { ...document.components.schemas, Problem };
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path) as Operation[]) {
      const everywhere = operation.requestBody ? { ...OF_BODIES, ...OF_ALL } : OF_ALL;
      operation.responses = { ...everywhere, ...operation.responses };
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) < 400 || !response || '$ref' in response) continue;
        response.content = { [PROBLEM_TYPE]: { schema } };
      }
    }
  }
  return document;
}

const OF_BODIES = {
  413: { description: 'The body is too large' },
  415: { description: 'The body is not JSON, or not declared as JSON' },
};
const OF_ALL = {
  503: {
    description: 'The database is away',
    headers: { 'Retry-After': { description: 'In seconds', schema: { type: 'integer' } } },
  },
};
