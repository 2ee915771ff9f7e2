/** Made by a package and handed back to it, or checked by nobody: what it is does not matter here. */
export type Opaque = any;
