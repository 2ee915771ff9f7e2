import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate in PEM, and its key. */
export interface Certificate {
  cert: string;
  key: string;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** DER: a tag, a length, and what it is of. */
const der = (tag: number, ...parts: readonly (Buffer | number[])[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const integer = (value: number): Buffer => der(0x02, [value]);
const bits = (value: Buffer): Buffer => der(0x03, [0], value);
const octets = (value: Buffer): Buffer => der(0x04, value);
const oid = (...bytes: number[]): Buffer => der(0x06, bytes);
const TRUE = der(0x01, [0xff]);

const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13);
const ALTERNATIVE_NAMES = oid(0x55, 0x1d, 0x11);

/** A name of one part, as subject and as issuer. */
const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(text)))));

const time = (ms: number): Buffer => {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(text));
};

const pem = (what: string, body: Buffer): string =>
  `-----BEGIN ${what}-----\n${body.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${what}-----\n`;

/** Signed by itself, for `localhost`, good for a day: Node has no means to make one. */
export function selfSigned(commonName: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const now = Date.now();
  const extensions = sequence(
    sequence(BASIC_CONSTRAINTS, TRUE, octets(sequence(TRUE))),
    sequence(ALTERNATIVE_NAMES, octets(sequence(der(0x82, Buffer.from('localhost'))))),
  );
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ECDSA_WITH_SHA256,
    nameOf(commonName),
    sequence(time(now - DAY_MS), time(now + DAY_MS)),
    nameOf(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = sign('sha256', body, privateKey);
  return {
    cert: pem('CERTIFICATE', sequence(body, ECDSA_WITH_SHA256, bits(signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
