import type { ComponentChildren } from 'preact';

interface FactListProps {
  /** One without a value is left out. */
  facts: readonly (readonly [name: ComponentChildren, value: ComponentChildren])[];
  class?: string;
}

export const FactList = ({ facts, class: look = 'figure' }: FactListProps) => (
  <dl class="facts">
    {facts.map(
      ([name, value], at) =>
        value !== null && (
          <div key={at}>
            <dt>{name}</dt>
            <dd class={look}>{value}</dd>
          </div>
        ),
    )}
  </dl>
);

export const asName = (its: string | null) => (its === null ? null : <bdi>{its}</bdi>);
