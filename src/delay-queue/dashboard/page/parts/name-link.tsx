import type { PauseLine } from '../../contract.js';
import { searchHref } from '../address/filter.js';

type Named = Pick<PauseLine, 'name' | 'group'>;

export const fullName = ({ name, group }: Named): string =>
  group === null ? name : `${name} · ${group}`;

/** A name, and its group: each leads to its delays. */
export function NameLinks({ its: { name, group } }: { its: Named }) {
  return (
    <>
      <a href={searchHref({ name })}>
        <bdi>{name}</bdi>
      </a>
      {group !== null && (
        <a class="group" href={searchHref({ name, group })}>
          <bdi>{group}</bdi>
        </a>
      )}
    </>
  );
}

export function NameLink({ its }: { its: Named }) {
  const { name, group } = its;
  return (
    <a href={searchHref({ name, ...(group !== null && { group }) })}>
      <bdi>{fullName(its)}</bdi>
    </a>
  );
}
