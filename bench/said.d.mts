/** Types of what the tests compare. */

/** One answer. */
export interface Said {
  readonly text: string;
  /** The arguments of the client's calls. */
  readonly calls: readonly string[];
  readonly usage: { readonly input: number; readonly output: number };
}

type ByName<Value> = Readonly<Record<string, Value>>;

export function saidToPlans(): Promise<ByName<ByName<Said>>>;
export function saidAfterTools(): Promise<ByName<ByName<Said>>>;
