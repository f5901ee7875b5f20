/** Keeps what is drawn as long as its properties are the same. */

import { Component, h, type ComponentType } from "preact";

/** Returns a component that is drawn anew only when one of its properties is another value. */
export function memo<P extends object>(Shown: (props: P) => unknown): ComponentType<P> {
  const Inner = Shown as unknown as ComponentType<P>;
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Record<string, unknown>;
      const now = next as Record<string, unknown>;
      const names = new Set([...Object.keys(before), ...Object.keys(now)]);
      return [...names].some((name) => name !== "children" && typeof now[name] !== "function" && before[name] !== now[name]);
    }
    override render() {
      return h(Inner as ComponentType<object>, this.props);
    }
  };
}
