/** The options that a factory knows. */

/** The names of the options, as the message about an unknown one lists them. */
export function optionNames(create: (options: object) => unknown): readonly string[] {
  try {
    create({ unheardOf: true });
  } catch (error) {
    return String(error).split('known are ')[1]?.split(', ') ?? [];
  }
  throw new Error('An unknown option was accepted.');
}
