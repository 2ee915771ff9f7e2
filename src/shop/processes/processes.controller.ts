import { Controller, Get, HttpCode, Ip, NotFoundException, Param, Post, Res } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { problem } from '../http/problem.js';
import { Processes, type ProcessState } from './processes.js';
import { processList } from './processes.schemas.js';

const LOOPBACK = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;

@ApiTags('processes')
@Controller('processes')
export class ProcessesController {
  constructor(private readonly processes: Processes) {}

  @Get()
  @ApiOperation({ summary: 'The processes of this shop' })
  @ApiOkResponse({ standardSchema: processList })
  list(): readonly ProcessState[] {
    return this.processes.list();
  }

  @Post(':name/kill')
  @HttpCode(202)
  @ApiOperation({ summary: 'Kill a process of the shop like kill -9; it is restarted' })
  @ApiAcceptedResponse()
  @ApiNotFoundResponse({ standardSchema: problem, description: 'No such process is up' })
  kill(
    @Param('name') name: string,
    @Ip() from: string,
    @Res({ passthrough: true }) response: Response,
  ): void {
    const isUp = this.processes.list().some((it) => it.name === name && it.state === 'up');
    if (!LOOPBACK.test(from) || !isUp) {
      throw new NotFoundException(`there is no process ${name} to kill`);
    }
    // It may be the process that answers.
    response.once('finish', () => this.processes.kill(name));
  }
}
