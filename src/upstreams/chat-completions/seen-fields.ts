/** Remembers the reasoning field that each model last used, because a stored item does not record it. */
import type { ReasoningField } from '../../protocol/chat-completions/reasoning-fields.ts';

/** Limits the models per server, because clients choose the names. */
const MAX_MODELS = 256;
const MAX_NAME_LENGTH = 256;

/** Keeps the fields of one server for the life of the process. */
export class SeenFields {
  // A Map keeps insertion order, so its first entry is the oldest.
  private readonly fields = new Map<string, ReasoningField>();

  get(model: string): ReasoningField | undefined {
    return this.fields.get(model);
  }

  remember(model: string, field: ReasoningField): void {
    if (model.length > MAX_NAME_LENGTH) return;
    this.fields.delete(model);
    this.fields.set(model, field);
    const [oldest] = this.fields.keys();
    if (this.fields.size > MAX_MODELS && oldest !== undefined) this.fields.delete(oldest);
  }
}
