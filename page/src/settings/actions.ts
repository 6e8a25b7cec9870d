import { api } from "../api/client";
import type { ConfigPatch, ConfigView, ModelInput, ModelView } from "../api/types";
import { focusComposer, leave } from "../shell/start";
import { hangUp, reconnect } from "../store/session";
import { setState } from "../store/store";

/** Do something with the models, then draw them as they are; the socket may tell it too, or be away. */
export async function changeModels<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  setState({ models: await api.models() });
  return result;
}

/** Add a model. The first one is the default at once, and was added to talk to: that is where it leads. */
export async function addModel(input: ModelInput): Promise<ModelView> {
  const added = await changeModels(api.addModel(input));
  if (added.isDefault && !added.key.problem) {
    leave();
    focusComposer();
  }
  return added;
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
  // The server ends the line with the session; it must not be tried again, which would be refused.
  hangUp();
  try {
    await api.signOut();
  } catch (error) {
    reconnect();
    throw error;
  }
  setState({ phase: { name: "signed-out", message: "" } });
}
