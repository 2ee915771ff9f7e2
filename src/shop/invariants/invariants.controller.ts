import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { invariants, type Invariants } from './invariants.schemas.js';
import { InvariantsService } from './invariants.service.js';

@ApiTags('invariants')
@Controller('invariants')
export class InvariantsController {
  constructor(private readonly service: InvariantsService) {}

  @Get()
  @ApiOperation({ summary: 'What must always hold, checked now' })
  @ApiOkResponse({ standardSchema: invariants })
  check(): Promise<Invariants> {
    return this.service.check();
  }
}
