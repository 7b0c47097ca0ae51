/** Remembers what the refusals of one server have taught about each of its models. */
/** Limits the models per server, because clients choose the names. */
const MAX_MODELS = 256;
const MAX_NAME = 256;
/** A server may be updated: what it has refused is tried again after an hour. */
const LASTING_MS = 60 * 60 * 1000;

/** The lessons of one server, which are settings of its requests. */
export class LearnedSettings<Learned extends { readonly refusedFields?: readonly unknown[] }> {
  // A Map keeps insertion order, so its first entry is the oldest.
  private readonly models = new Map<string, { readonly settings: Learned; readonly until: number }>();
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  get(model: string): Learned | undefined {
    const known = this.models.get(model);
    if (!known || known.until > this.now()) return known?.settings;
    this.models.delete(model);
    return undefined;
  }

  /** Adds to what is known; fields that are refused add up. */
  learn(model: string, settings: Learned): void {
    if (model.length > MAX_NAME) return;
    const known = this.get(model);
    const refusedFields = [...new Set([...(known?.refusedFields ?? []), ...(settings.refusedFields ?? [])])];
    this.models.delete(model);
    const learned = { ...known, ...settings, ...(refusedFields.length > 0 ? { refusedFields } : {}) };
    this.models.set(model, { settings: learned, until: this.now() + LASTING_MS });
    const [oldest] = this.models.keys();
    if (this.models.size > MAX_MODELS && oldest !== undefined) this.models.delete(oldest);
  }
}
