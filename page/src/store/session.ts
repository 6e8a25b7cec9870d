import { api, ApiError, errorText } from "../api/client";
import { currentRoute } from "../shell/router";
import { fromSnapshot } from "./conversation";
import { setState } from "./store";

/** Take the one-time code out of the address, so that it stays in no history, and exchange it for a session. */
async function exchangeCode(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  await api.signIn(code);
}

/** Draw the page from one request: the lists, the models and the conversation that the address names. */
export async function start(): Promise<void> {
  const route = currentRoute();
  try {
    await exchangeCode();
    const state = await api.state(route.page === "chat" ? route.conversationId : null);
    setState({
      phase: { name: "ready" },
      conversations: state.conversations.conversations,
      nextConversations: state.conversations.next,
      models: state.models,
      config: state.config,
      open: state.snapshot ? fromSnapshot(state.snapshot) : null,
    });
  } catch (error) {
    const signedOut = error instanceof ApiError && (error.status === 401 || error.status === 403);
    setState({ phase: { name: signedOut ? "signed-out" : "failed", message: errorText(error) } });
  }
}
