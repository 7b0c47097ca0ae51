/** What clients are told of containers that they cannot use. */
import { ApiError } from '../../protocol/errors.ts';
import { quoteId } from '../../protocol/ids.ts';

/** The client's error for a container that its tenant does not have. */
export function containerNotFound(id: unknown): ApiError {
  return new ApiError('container_not_found', `Container with id ${quoteId(id)} not found.`, { status: 404 });
}

/** OpenAI's error for a container whose time is over. */
export function containerExpired(param: string | null = null): ApiError {
  return new ApiError('container_expired', 'Container is expired.', { param });
}
