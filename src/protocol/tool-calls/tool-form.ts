/** The client's definition of its own tools. */

/** The client's name and form of its tool; models use only functions without namespaces. */
export interface ToolForm {
  /** A custom tool takes free text. */
  readonly kind: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string;
}
