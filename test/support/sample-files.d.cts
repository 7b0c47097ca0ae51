/** Those of the paths that a sampled run takes. */
declare function filesInSample(paths: readonly string[]): Promise<{ readonly filtered: readonly string[] }>;
export = filesInSample;
