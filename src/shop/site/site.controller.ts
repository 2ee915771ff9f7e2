import { Controller, Get, Header, NotFoundException, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { projectRoot } from '../../project-root.js';
import { PAGE_HEADERS } from '../http/page-headers.js';

/** Output of `npm run build` for the page. */
const FOLDER = join(projectRoot(), 'dist', 'page');
const ASSETS = join(FOLDER, 'assets');

@ApiExcludeController()
@Controller()
export class SiteController {
  @Get()
  page(@Res() response: Response): void {
    if (!existsSync(join(FOLDER, 'index.html'))) {
      throw new NotFoundException('the page is not built: npm run build');
    }
    response.set(PAGE_HEADERS);
    response.sendFile('index.html', { root: FOLDER, cacheControl: false });
  }

  /** File names change with their content. */
  @Get('assets/:file')
  @Header('x-content-type-options', 'nosniff')
  asset(@Param('file') file: string, @Res() response: Response): void {
    if (basename(file) !== file || !existsSync(join(ASSETS, file))) {
      throw new NotFoundException('there is no such asset');
    }
    response.sendFile(file, { root: ASSETS, maxAge: '1y', immutable: true });
  }
}
