/** Remembers of each model where it was last seen to write its reasoning: what a stored item says of words does not tell. */
import type { ReasoningField } from '../../protocol/chat-completions/answer-state.ts';

/** Models of one server; clients name them. */
const MOST_MODELS = 256;
const LONGEST_NAME = 256;

/** Of one server, for as long as this process runs. */
export class SeenFields {
  // A Map keeps the order of insertion, so its front is what was seen longest ago.
  private readonly fields = new Map<string, ReasoningField>();

  get(model: string): ReasoningField | undefined {
    return this.fields.get(model);
  }

  saw(model: string, field: ReasoningField): void {
    if (model.length > LONGEST_NAME) return;
    this.fields.delete(model);
    this.fields.set(model, field);
    const [oldest] = this.fields.keys();
    if (this.fields.size > MOST_MODELS && oldest !== undefined) this.fields.delete(oldest);
  }
}
