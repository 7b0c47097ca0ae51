/** How clients know their own tools. */

/** How the client knows a tool of its own; models know only functions without namespaces. */
export interface ToolForm {
  /** A custom tool takes free text. */
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string;
}
