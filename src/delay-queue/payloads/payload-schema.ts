/**
 * What a payload has to look like: any schema of [Standard Schema v1](https://standardschema.dev), which Zod, Valibot,
 * ArkType and others implement. It is the part of that interface that is used here.
 */
export interface PayloadSchema<Parsed = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Parsed> | Promise<SchemaResult<Parsed>>;
  };
}

/** What a schema says of a payload. */
export type SchemaResult<Parsed> =
  | { readonly value: Parsed; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** What does not fit, and where. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
