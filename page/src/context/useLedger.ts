import { useEffect } from "react";
import { api, errorText } from "../api/client";
import { getState, setState, useApp, type KeptLedger } from "../store/store";
import { ledgerMoment } from "./ledger";
import type { ContextLedger } from "../api/types";

let isAsking = false;
let isOutdated = false;

/** Ask for the ledger of a conversation; while it is on its way a newer wish waits, and several are one. */
async function refresh(conversationId: string): Promise<void> {
  if (isAsking) {
    isOutdated = true;
    return;
  }
  isAsking = true;
  const kept = await api.context(conversationId).then(
    (ledger) => ({ conversationId, ledger, problem: "" }),
    (error: unknown) => ({ conversationId, ledger: ledgerOf(conversationId), problem: errorText(error) }),
  );
  isAsking = false;
  const openId = getState().open?.conversation.id;
  if (openId === conversationId) setState({ ledger: kept });
  if (!isOutdated) return;
  isOutdated = false;
  if (openId) void refresh(openId);
}

function ledgerOf(conversationId: string): ContextLedger | null {
  const { ledger } = getState();
  return ledger?.conversationId === conversationId ? ledger.ledger : null;
}

/** Keep what is known of the open conversation's window up to date: asked for whenever it may have changed, and not else. */
export function useKeepingLedger(): void {
  const conversationId = useApp((state) => state.open?.conversation.id ?? null);
  const settings = useApp((state) => state.open?.conversation.settings);
  const moment = useApp((state) => ledgerMoment(state.open));
  useEffect(() => {
    if (conversationId) void refresh(conversationId);
  }, [conversationId, settings, moment]);
}

/** Draw with what is known of the open conversation's window. */
export function useLedger(): KeptLedger | null {
  return useApp(({ ledger, open }) => (ledger && ledger.conversationId === open?.conversation.id ? ledger : null));
}
