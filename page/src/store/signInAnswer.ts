import { callbackPath } from "../shell/router";

const HELD = "pilothouse.sign-in";

/**
 * Take what an issuer sent along out of the address, so that it stays in no history, and hold it until it is handed over.
 *
 * It outlives the way to a link that lets this browser in.
 */
export function holdAnswer(): void {
  if (location.pathname !== callbackPath || !location.search) return;
  sessionStorage.setItem(HELD, location.search);
  history.replaceState(null, "", callbackPath);
}

/** Return what is held, or "". */
export const answerHeld = (): string => sessionStorage.getItem(HELD) ?? "";

/** Forget it: it was handed over. */
export const dropAnswer = (): void => sessionStorage.removeItem(HELD);

/** Return the server that an answer is for, as its state says. */
export const serverOf = (answer: string): string => new URLSearchParams(answer).get("state")?.split(".")[0] ?? "";
