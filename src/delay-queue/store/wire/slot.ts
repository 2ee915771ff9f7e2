/** A name and key as one text: no name has a space in it. */
export const slotOf = ({ name, key }: { name: string; key: string | null }): string =>
  `${name} ${key}`;
