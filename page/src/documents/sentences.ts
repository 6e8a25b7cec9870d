import { ApiError, errorText } from "../api/client";

/** Return what was wrong with a file, with its name: several files may be refused at once. */
export function aboutFile(name: string, error: unknown): string {
  const text = errorText(error);
  return text.includes(name) ? text : `${name}: ${text}`;
}

/** Return why a document cannot be shown; who followed a citation has no list of ids to look at. */
export const whyNotShown = (error: unknown) =>
  error instanceof ApiError && error.problem.code === "not_found" ? "This document is not there any more." : errorText(error);
