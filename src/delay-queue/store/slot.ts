/** JSON keeps ('a', 'b,c') and ('a,b', 'c') apart. */
export const slotOf = (item: { name: string; key: string | null }): string =>
  JSON.stringify([item.name, item.key]);
