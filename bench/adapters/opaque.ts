/** Made by a package and handed back to it, or not checked at all: what it is does not matter here. */
export type Opaque = any;
