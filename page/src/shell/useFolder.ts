import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";

/** Return the working directory of the open conversation, or of the one that the next message starts. */
export function useFolder(): string | null {
  return useApp((state) => settingsNow(state).workingDirectory);
}
