/** What a request may demand of a container, wherever it names one. */

/**
 * The paths of the demands in a tool whose `field` describes a container: who runs it here keeps to each, or refuses it. `domain_secrets`
 * forbids nothing, and stands among what does.
 */
export function containerTerms(field: string): readonly string[] {
  const policy = ['type', 'allowed_domains', 'domain_secrets'].map((name) => `network_policy.${name}`);
  return ['memory_limit', ...policy].map((name) => `${field}.${name}`);
}
