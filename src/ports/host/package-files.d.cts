/** The types of `package-files.cjs`. */

/** `require` from the place of this package: it finds the packages that the host has installed. */
export declare const requirePackage: NodeJS.Require;

/** The folder of the build, `dist`, also where the sources run: Node runs only built files in processes and threads of their own. */
export declare const BUILD_FOLDER: string;
