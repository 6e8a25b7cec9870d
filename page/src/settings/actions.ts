import { api } from "../api/client";
import type { ConfigPatch, ConfigView } from "../api/types";
import { setState } from "../store/store";

/** Do something with the models, then draw them as they are; the socket may tell it too, or be away. */
export async function changeModels<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  setState({ models: await api.models() });
  return result;
}

/** What was asked last about the settings: one thing after the other, so that nothing older is drawn over what is newer. */
let asked: Promise<unknown> = Promise.resolve();

async function drawn(ask: () => Promise<ConfigView>): Promise<void> {
  const answer = asked.then(ask);
  asked = answer.catch(() => undefined);
  setState({ config: await answer });
}

/** Change settings and draw what the server made of them. */
export const changeConfig = (patch: ConfigPatch): Promise<void> => drawn(() => api.changeConfig(patch));

/** Read the settings again: the file may have been edited since. */
export const loadConfig = (): Promise<void> => drawn(api.config);

/** End this browser's session. */
export async function signOut(): Promise<void> {
  await api.signOut();
  setState({ phase: { name: "signed-out", message: "" } });
}
