import { api } from "../api/client";
import type { ConfigPatch } from "../api/types";
import { setState } from "../store/store";

/** Do something with the models, then draw them as they are; the socket may tell it too, or be away. */
export async function changeModels<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  setState({ models: await api.models() });
  return result;
}

/** Change settings and draw what the server made of them. */
export async function changeConfig(patch: ConfigPatch): Promise<void> {
  setState({ config: await api.changeConfig(patch) });
}

/** Read the settings again: the file may have been edited since. */
export async function loadConfig(): Promise<void> {
  setState({ config: await api.config() });
}

/** End this browser's session. */
export async function signOut(): Promise<void> {
  await api.signOut();
  setState({ phase: { name: "signed-out", message: "" } });
}
