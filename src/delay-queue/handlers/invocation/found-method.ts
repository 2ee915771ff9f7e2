import type { DiscoveryService } from '@nestjs/core';

export type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A method of a provider or controller that discovery found. */
export interface FoundMethod {
  wrapper: InstanceWrapper;
  instance: object;
  methodName: string;
  /** For messages. */
  place: string;
}

/** It has one instance for all. */
export const isStatic = (wrapper: InstanceWrapper): boolean =>
  wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
