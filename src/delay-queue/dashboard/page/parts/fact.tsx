import type { ComponentChildren } from 'preact';

interface FactProps {
  name: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}

export const Fact = ({ name, class: look = 'figure', children }: FactProps) => (
  <div>
    <dt>{name}</dt>
    <dd class={look}>{children}</dd>
  </div>
);
