/** The API of containers as a value, for `openResponses` and for the router. */
import type { ContainerSkills } from '../../ports/containers/container-skills.ts';
import {
  type SharedContainersOptions,
  shareContainers,
  sharedChecks,
} from '../../ports/containers/create-containers.ts';
import { type FileStore, isFileStore } from '../../ports/files/file-store.ts';
import { checkOptions, type OptionCheck, withMethods } from '../../ports/host/options-check.ts';
import type { Api } from '../endpoint/api.ts';
import { formParser } from '../endpoint/forms/multipart.ts';
import { UploadSlots } from '../endpoint/forms/upload-slots.ts';
import { containerRoutes } from './endpoints.ts';

/** The containers, and where their first files come from; `undefined` means omitted. */
export interface ContainersApiOptions extends SharedContainersOptions {
  /** Where uploaded files are: the same store as that of the Files API. Default: none, and `file_id` and `file_ids` are refused. */
  readonly files?: FileStore | undefined;
  /** Where skills come from. Default: none, and `skills` are refused. */
  readonly skills?: ContainerSkills | undefined;
}

/** The checks of the options, to which a router adds its own. */
export const containersApiChecks: Readonly<Record<keyof ContainersApiOptions, OptionCheck>> = {
  ...sharedChecks,
  files: isFileStore,
  skills: withMethods('filesFor'),
};

/** A tenant's uploads at the same time, and what their forms may hold. */
const UPLOADS = 8;
const FORM = { parts: 16, fieldBytes: 1024, idleTimeoutMs: 60_000 };

/**
 * `/containers` and their `/files`, for the option `apis` of `openResponses`: the containers are those of the code interpreter that
 * has the same `runtime` or `containers`. Needs the package `@fastify/busboy`. Throws a `TypeError` for an unknown option or a bad
 * value, and an `Error` if the package is missing.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { openResponses } from 'express-open-responses';
 * import { codeInterpreter, pyodideRuntime } from 'express-open-responses/code-interpreter';
 * import { containersApi } from 'express-open-responses/containers';
 *
 * const runtime = pyodideRuntime();
 * const api = openResponses({ tools: codeInterpreter({ runtime }), apis: [containersApi({ runtime })] });
 * express().use('/v1', api.router).listen(3000);
 * ```
 */
export function containersApi(options: ContainersApiOptions): Api {
  checkOptions('containersApi', options, containersApiChecks);
  return makeContainersApi('containersApi', options);
}

/** The same for the function `owner`, which has checked its options. */
export function makeContainersApi(owner: string, { files, skills, ...shared }: ContainersApiOptions): Api {
  const { containers, close } = shareContainers(owner, shared);
  const { fileBytes, bytes: tenantBytes } = containers.limits;
  const formLimits = { ...FORM, fileBytes };
  const parser = formParser(owner, formLimits);
  return {
    name: 'containers',
    ...(files && { files }),
    open(host) {
      const slots = new UploadSlots({ uploads: UPLOADS, files: Number.POSITIVE_INFINITY, tenantBytes });
      const settings = { ...host, containers, files, skills, formLimits, formParser: parser };
      return {
        routes: containerRoutes(settings, slots),
        describe: async () => [(await import('./description.ts')).describeContainers()],
        drain: slots.drain,
        status: async () => ({ ok: true, kind: containers.runtime.name, uploads: slots.running }),
      };
    },
    close,
  };
}
